"""Words of the scan: TensorFlow scripts, and what a notebook or a list of requirements holds beside Python."""

from helpers.words import Words

_HEADINGS = {
    "scan_tensorflow": ("TensorFlow scripts: support by level", "TensorFlow 脚本：按支持级别"),
    "scan_tensorflow_places": ("TensorFlow scripts: the places", "TensorFlow 脚本：各处用法"),
    "tf_level": ("Level", "级别"),
    "tf_names": ("Names", "API 数"),
    "tf_examples": ("Most often", "最常见"),
    "versions_hold": ("Holds for", "适用版本"),
}

_LEVELS = {
    "supported": ("supported", "支持", "runs as it is", "无需修改即可运行"),
    "no_effect": ("no effect", "无效果", "runs, but does nothing on an NPU", "可运行，但在 NPU 上没有效果"),
    "tool": ("by the tool", "工具迁移", "convert_tf2npu changes it; look at its result",
             "由 convert_tf2npu 修改；请核对结果"),
    "by_hand": ("by hand", "手工迁移", "has to be changed by hand", "须手工修改"),
    "dynamic": ("static shapes", "静态 shape", "runs with static shapes; by hand where shapes are dynamic",
                "静态 shape 可直接运行；动态 shape 须手工修改"),
    "analysing": ("under analysis", "分析中", "Ascend's list does not promise it; try it",
                  "昇腾清单未承诺支持；请先试运行"),
    "deprecated": ("deprecated", "废弃", "deprecated in TensorFlow 1.15; replace it first",
                   "TensorFlow 1.15 已废弃；请先替换"),
    "listed_unsupported": ("not in the list", "清单标为不支持",
                           "Ascend's list of 2021 says no, of names too that run today; try it",
                           "昇腾 2021 年清单标为不支持，其中也有如今可运行的接口；请先试运行"),
    "unsupported": ("unsupported", "不支持", "no way today on an NPU; take the alternative",
                    "目前 NPU 不支持，请用替代方案"),
    "unknown": ("not known", "未知", "no source here speaks of it: it was not judged", "没有资料提及，未作判断"),
}  # fmt: skip

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"migration.tf.{name}": Words(en, zh) for name, (en, zh, _, _) in _LEVELS.items()},
    **{f"migration.tf_means.{name}": Words(en, zh) for name, (_, _, en, zh) in _LEVELS.items()},
    "migration.box.all": Words("all", "全部"),
    "migration.box.text": Words("contains", "包含"),
    "migration.box.shown": Words("{shown} of {count} place(s)", "共 {count} 处，显示 {shown} 处"),
    "migration.box.none": Words(
        "no use of CUDA that `scan` knows: nothing to change here; `dry-run` tells whether both sides train alike",
        "没有 `scan` 所知的 CUDA 用法，此处无需修改；两侧训练是否一致，由 `dry-run` 判断",
    ),
    "migration.box.hidden": Words(
        "the filters leave none of {count} place(s): choose “all”, or empty the text",
        "共 {count} 处，均被筛选条件排除：请选择“全部”，或清空文字",
    ),
    "MIG100.only_tensorflow": Words(
        "{grave}no PyTorch use of CUDA in {files}, but {scripts} TensorFlow script(s): their report is a part of "
        "this{unread}",
        "{grave}{files}中没有 PyTorch 的 CUDA 用法，但有 {scripts} 个 TensorFlow 脚本，见其单独的报告{unread}",
    ),
    "MIG100.foreign_cell": Words(
        "{path}: a %%{magic} cell that mentions CUDA was not looked at",
        "{path}：%%{magic} 单元格提到 CUDA，但未检查",
        "Python and shell cells are looked at, and files that %%writefile makes of them. Read this one by hand.",
        "检查 Python 与 shell 单元格，以及 %%writefile 写出的此类文件。请人工查看该单元格。",
    ),
    "MIG128.index": Words(
        "{library}: wheels built for CUDA; on an NPU take the CPU build of torch and torch_npu",
        "{library}：为 CUDA 构建的安装包；NPU 上请安装 torch 的 CPU 版与 torch_npu",
    ),
    "MIG136.levels": Words(
        "{files} TensorFlow script(s): {places} uses of {names} names, {supported} of them supported as they are",
        "{files} 个 TensorFlow 脚本：{names} 个 API 共 {places} 处，其中 {supported} 处无需修改",
    ),
    "MIG136.places": Words(
        "{uses} place(s) to look at: {manual} by hand or by the tool, {unsupported} unsupported, {advice} advice",
        "需查看 {uses} 处：手工或工具 {manual}，不支持 {unsupported}，建议 {advice}",
    ),
    "MIG136.dynamic": Words(
        "{name} runs with static shapes; with dynamic shapes it has to be changed by hand (so often here: {count})",
        "{name} 在静态 shape 下可直接运行；动态 shape 须手工修改（本文件 {count} 处）",
    ),
    "MIG136.analysing": Words(
        "{name}: under analysis in Ascend's list of TensorFlow 1.15 (2021); try it (so often here: {count})",
        "{name}：昇腾 TensorFlow 1.15 清单（2021）标为分析中；请先试运行（本文件 {count} 处）",
    ),
    "MIG136.deprecated": Words(
        "{name} is deprecated in TensorFlow 1.15: replace it first (so often here: {count})",
        "{name} 在 TensorFlow 1.15 中已废弃：请先替换（本文件 {count} 处）",
    ),
    "MIG136.listed_unsupported": Words(
        "{name}: Ascend's list of TensorFlow 1.15 (2021) says no, as of names that run today; try it "
        "(so often here: {count})",
        "{name}：昇腾 TensorFlow 1.15 清单（2021）标为不支持，但清单中也有如今可运行的接口；请先试运行"
        "（本文件 {count} 处）",
    ),
    "migration.gate": Words(
        "{count} place(s) of a class that was not to occur (--fail-on): {kind}",
        "存在 {count} 处不允许出现（--fail-on）的类别：{kind}",
    ),
    "migration.grave": Words(
        "UNSUPPORTED on an NPU today: {count} place(s), first {first}; ",
        "【不支持】目前 NPU 无法支持 {count} 处，首处 {first}；",
    ),
    "migration.unread": Words("; NOT READ: {count} file(s)", "；另有 {count} 个文件未能读取"),
    "migration.files.python": Words("{count} Python file(s)", "{count} 个 Python 文件"),
    "migration.files.notebook": Words("{count} notebook(s)", "{count} 个笔记本"),
    "migration.files.launch": Words("{count} launch script(s)", "{count} 个启动脚本"),
    "migration.files.container": Words("{count} Dockerfile(s)", "{count} 个 Dockerfile"),
    "migration.files.settings": Words("{count} file(s) of settings", "{count} 个配置文件"),
    "migration.files.requirements": Words("{count} list(s) of requirements", "{count} 个依赖清单"),
}
