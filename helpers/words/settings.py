"""Words of settings records: what differs, why it matters and what to do."""

from helpers.words import Words

_HEADINGS = {
    "compare_settings": ("Settings compared", "配置对比"),
    "settings_risk": ("Risk", "风险"),
    "settings_group": ("Group", "类别"),
    "settings_name": ("Name", "名称"),
    "settings_left": ("First", "第一侧"),
    "settings_right": ("Second", "第二侧"),
    "settings_why": ("Why it matters", "影响"),
}

_PARTS = {
    "risk.high": ("high", "高"),
    "risk.medium": ("medium", "中"),
    "risk.low": ("low", "低"),
    "risk.expected": ("expected", "预期"),
    "group.run": ("run", "运行"),
    "group.weights": ("initial weights", "初始权重"),
    "group.batches": ("data", "数据"),
    "group.flags": ("torch flags", "torch 开关"),
    "group.environment": ("variables", "环境变量"),
    "group.packages": ("packages", "软件包"),
    "group.machine": ("machine", "机器"),
}

#: ending -> (why en, why zh, what to do en, what to do zh); an empty what-to-do is never shown
_REASONS = {
    "reduction": (
        "sums over ranks run in another order", "跨 rank 求和的顺序不同",
        "Set {name} alike on both sides (HCCL_DETERMINISTIC=true on the NPU).",
        "请在两侧设置相同的 {name}（NPU 侧 HCCL_DETERMINISTIC=true）。",
    ),
    "sums": (
        "sums inside kernels run in another order or width", "算子内部求和的顺序或位宽不同",
        "Set {name} alike on both sides.", "请在两侧设置相同的 {name}。",
    ),
    "format": (
        "float32 inputs are rounded to about 10 bits on one side only", "仅一侧会将 float32 输入舍入到约 10 位",
        "Turn {name} off on both sides for the comparison (allow_tf32 / allow_hf32 = False).",
        "对比时请在两侧关闭 {name}（allow_tf32 / allow_hf32 = False）。",
    ),
    "formats": (
        "both sides round float32 inputs, to TF32 and HF32", "两侧都会舍入 float32 输入（TF32 与 HF32）", "", "",
    ),
    "overflow": (
        "overflow becomes inf on one side and the largest number on the other", "溢出时一侧得到 inf，另一侧得到最大值",
        "Set {name} alike; a GPU keeps inf and nan (INF_NAN_MODE_ENABLE=1).",
        "请设置相同的 {name}；GPU 保留 inf 与 nan（INF_NAN_MODE_ENABLE=1）。",
    ),
    "hash": (
        "sets and dictionaries keyed by text may be walked in another order", "以文本为键的集合遍历顺序可能不同",
        "Set {name} to the same number before Python starts.", "请在 Python 启动前将 {name} 设为相同数值。",
    ),
    "world": (
        "another number of ranks: other batches, other sums", "rank 数不同：批次与求和都不同",
        "Run both sides with the same number of ranks ({name}).", "请在两侧使用相同的 rank 数（{name}）。",
    ),
    "cpu": (
        "the CPU's own kernels may differ in the last bit", "CPU 自身的算子可能在末位不同", "", "",
    ),
    "speed": ("it changes speed, not values", "影响速度，不影响数值", "", ""),
    "compiled": (
        "one side may run compiled kernels that fuse and reorder", "一侧可能运行融合、重排后的编译算子",
        "Set {name} alike on both sides.", "请在两侧设置相同的 {name}。",
    ),
    "device": (
        "another device", "设备不同", "Compare like devices with like.", "请对比同类设备。",
    ),
    "deterministic": (
        "one side may choose kernels whose results vary from run to run", "一侧可能选用每次结果不同的算子",
        "Set {name} alike: torch.use_deterministic_algorithms(True), cudnn.benchmark = False.",
        "请设置相同的 {name}：torch.use_deterministic_algorithms(True)、cudnn.benchmark = False。",
    ),
    "dtype": (
        "tensors made without a dtype have another one", "未指定 dtype 的张量类型不同",
        "Set the same {name} on both sides.", "请在两侧设置相同的 {name}。",
    ),
    "unread": ("could not be told on one side", "一侧无法判断", "", ""),
    "torch": (
        "another torch: operators, defaults and random numbers may have changed",
        "torch 版本不同：算子、默认值与随机数可能有变",
        "Take the same release on both sides: {name}.", "请在两侧使用相同版本：{name}。",
    ),
    "build": ("the same release, built for another device", "版本相同，仅构建目标设备不同", "", ""),
    "model": (
        "the model's own code may differ", "模型代码本身可能不同",
        "Install the same on both sides: {name}.", "请在两侧安装相同版本：{name}。",
    ),
    "data_code": (
        "data may be read, split or resized differently", "数据的读取、切分或缩放可能不同",
        "Install the same on both sides: {name}.", "请在两侧安装相同版本：{name}。",
    ),
    "arithmetic": (
        "arithmetic or random numbers outside torch may differ", "torch 之外的运算或随机数可能不同",
        "Install the same on both sides: {name}.", "请在两侧安装相同版本：{name}。",
    ),
    "other": ("no link with precision is known", "未发现与精度有关", "", ""),
    "kernels": (
        "another version of the device's kernels", "设备算子库版本不同",
        "Compare on the same version of {name}.", "请在相同版本的 {name} 上对比。",
    ),
    "python": ("another interpreter or system", "解释器或系统不同", "", ""),
    "script": (
        "another script, or a migrated one", "脚本不同，或其中一个已迁移",
        "Make sure that only the migration differs ({name}).", "请确认只有迁移造成的差别（{name}）。",
    ),
    "args": (
        "another configuration: not the same experiment", "参数不同：不是同一个实验",
        "Give both sides the same arguments.", "请给两侧相同的参数。",
    ),
    "seed": (
        "another seed: not the same experiment", "随机种子不同：不是同一个实验",
        "Seed both sides alike, before the model is built.", "请在构建模型之前在两侧设置相同的种子。",
    ),
    "weights": (
        "initial weights differ: not the same experiment", "初始权重不同：不是同一个实验",
        "Start both sides from one checkpoint; the first that differs is {name}.",
        "请让两侧从同一个检查点开始；最先不同的是 {name}。",
    ),
    "batches": (
        "batches of data differ: not the same experiment", "批次数据不同：不是同一个实验",
        "Fix the order of the data (sampler, workers, augmentation); the first step that differs is {name}.",
        "请固定数据顺序（采样器、工作进程、增强）；最先不同的是第 {name} 步。",
    ),
}  # fmt: skip

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"settings.{name}": Words(en, zh) for name, (en, zh) in _PARTS.items()},
    **{f"settings.why.{name}": Words(en, zh) for name, (en, zh, _, _) in _REASONS.items()},
    **{f"settings.do.{name}": Words(en, zh) for name, (_, _, en, zh) in _REASONS.items() if en},
    "settings.saved": Words("settings: {path}", "配置：{path}"),
    "settings.xlsx": Words("msprobe's comparison: {path}", "msprobe 对比结果：{path}"),
    "settings.unreadable": Words(
        "{path} cannot be read as a settings record: {error}",
        "无法将 {path} 作为配置记录读取：{error}",
        "Make it with `ascend-workbook check --save FILE` on the machine it is about, or give a capture's folder.",
        "请在对应的机器上用 `ascend-workbook check --save FILE` 生成，或给出采集结果的目录。",
    ),
    "settings.version": Words(
        "{path} is a settings record of version {found}; this workbook reads version {expected}",
        "{path} 的配置记录版本为 {found}；本工具读取版本 {expected}",
        "Save it again with the same workbook on both machines.",
        "请在两台机器上用同一版本的工具重新保存。",
    ),
    "settings.no_capture": Words(
        "{path} holds no finished capture",
        "{path} 中没有完成的采集结果",
        "Make one with `ascend-workbook capture --out {path} train.py`.",
        "请用 `ascend-workbook capture --out {path} train.py` 采集。",
    ),
    "settings.no_msprobe": Words(
        "msprobe is not installed for {python}: there is no xlsx of its config_check",
        "{python} 中未安装 msprobe：无法生成其 config_check 的 xlsx",
        "`pip install --no-deps mindstudio-probe` (with its pandas, openpyxl and pyyaml); or leave --xlsx out.",
        "执行 `pip install --no-deps mindstudio-probe`（及其依赖 pandas、openpyxl、pyyaml）；或去掉 --xlsx。",
    ),
    "settings.msprobe_failed": Words(
        "msprobe's config_check failed: {error}",
        "msprobe 的 config_check 执行失败：{error}",
        "The comparison itself needs no msprobe: leave --xlsx out.",
        "对比本身不需要 msprobe：请去掉 --xlsx。",
    ),
    "ENV120.high": Words(
        "{high} difference(s) of high risk between {left} and {right}; the first is {name}: {first}",
        "{left} 与 {right} 之间有 {high} 处高风险差异；首先是 {name}：{first}",
        "Make these equal before comparing precision: the column “Next step” says how.",
        "对比精度之前请先消除这些差异：见“下一步”一列。",
    ),
    "ENV120.medium": Words(
        "{medium} difference(s) of medium risk between {left} and {right}; the first is {name}: {first}",
        "{left} 与 {right} 之间有 {medium} 处中风险差异；首先是 {name}：{first}",
        "Rule them out first where the two sides part.",
        "两侧结果不一致时请首先排除这些差异。",
    ),
    "ENV120.alike": Words(
        "nothing compared between {left} and {right} endangers precision ({low} of low risk, {expected} expected)",
        "{left} 与 {right} 之间已对比的内容均不影响精度（低风险 {low} 处，预期差异 {expected} 处）",
    ),
    "ENV121.packages": Words("not compared: packages are unknown on a side", "未对比：有一侧不知道软件包"),
    "ENV121.environment": Words("not compared: variables are unknown on a side", "未对比：有一侧不知道环境变量"),
    "ENV121.flags": Words(
        "not compared: torch's flags are unknown on a side (torch could not be imported there)",
        "未对比：有一侧不知道 torch 的开关（该侧无法导入 torch）",
        "Mend torch on that machine (`ascend-workbook check`) and save again.",
        "请在该机器上修复 torch（`ascend-workbook check`）后重新保存。",
    ),
    "ENV121.run": Words(
        "not compared: seeds and arguments (a side has no run)",
        "未对比：随机种子与参数（有一侧没有运行记录）",
        "Give captures: `ascend-workbook check --save FILE --run CAPTURE`, or their folders to --compare.",
        "请提供采集结果：`ascend-workbook check --save FILE --run CAPTURE`，或将目录直接交给 --compare。",
    ),
    "ENV121.weights": Words(
        "not compared: initial weights (no rank has fingerprints on both sides)",
        "未对比：初始权重（没有两侧都有指纹的 Rank）",
    ),
    "ENV121.batches": Words(
        "not compared: batches of data (no step has fingerprints on both sides)",
        "未对比：批次数据（没有两侧都有指纹的 step）",
    ),
    "ENV121.machine": Words(
        "not compared: {names} of the machines (a side does not tell)",
        "未对比：机器的 {names}（有一侧未记录）",
        "Save both sides with this workbook on their machines (`ascend-workbook check --save FILE`), or capture anew.",
        "请在两台机器上用本工具重新保存（`ascend-workbook check --save FILE`），或重新采集。",
    ),
    "ACC207.differ": Words(
        "{count} settings that change numbers differ; the riskiest is {what}: {baseline} in the baseline, {target} in"
        " the target ({why}); also: {others}",
        "有 {count} 项会影响数值的配置不同；风险最高的是 {what}：基线为 {baseline}，目标为 {target}"
        "（{why}）；另有：{others}",
        "`ascend-workbook check --compare BASELINE TARGET` lists them all with what to do.",
        "`ascend-workbook check --compare BASELINE TARGET` 会列出全部差异及处理方法。",
    ),
}
