"""Words of `rewrite`: what was edited in either mode, and why a file was left as it was."""

from __future__ import annotations

from helpers.words import Words

WORDS = {
    "rewriting.patch_written": Words(
        "patch: {path} (in the folder that was rewritten: `git apply {path}` or `patch -p1 -i {path}`)",
        "补丁：{path}（在被改写的目录中执行 `git apply {path}` 或 `patch -p1 -i {path}`）",
    ),
    "rewriting.not_written": Words(
        "nothing was written yet: `ascend-workbook rewrite {path} --mode {mode} --out FOLDER` writes the copy",
        "尚未写入任何文件：`ascend-workbook rewrite {path} --mode {mode} --out 目录` 写出迁移后的副本",
    ),
    "rewriting.out_written": Words(
        "written: {count} file(s) to {path}; the source is as it was{next}",
        "已写入：{count} 个文件到 {path}；源文件未改动{next}",
    ),
    "rewriting.out_next": Words(
        "; next: `ascend-workbook dry-run {script}` runs it before and after migration",
        "；下一步：`ascend-workbook dry-run {script}`，比较迁移前后的运行",
    ),
    "rewriting.in_place_written": Words(
        "written: {count} file(s) in {path}, each original kept beside it as NAME.orig; the way back: `{back}`{next}",
        "已写入：{path} 中的 {count} 个文件，原文件均保留为 NAME.orig；恢复：`{back}`{next}",
    ),
    "rewriting.in_place_next": Words(
        "; a dry run starts from the original: go back, then `ascend-workbook dry-run {script}`",
        "；试运行以原脚本为起点：先恢复，再执行 `ascend-workbook dry-run {script}`",
    ),
    "MIG130.explicit": Words(
        "{grave}{edits} edit(s) in {files} file(s): the source says npu, {imports} file(s) import torch_npu, "
        "{rewrites} line(s) rewritten; left to do by hand: {manual}, unsupported: {unsupported}{unread}",
        "{grave}{files} 个文件共 {edits} 处修改：源码直接使用 npu，{imports} 个文件导入 torch_npu，改写 {rewrites} 行；"
        "尚需手工 {manual} 处，不支持 {unsupported} 处{unread}",
    ),
    "MIG130.kept": Words(
        "{out} held {count} other file(s) under these names: each is kept as NAME.orig, the first as {first}",
        "{out} 中原有 {count} 个同名但内容不同的文件：均保留为 NAME.orig，首个为 {first}",
        "Move them back if they were not an earlier result.",
        "如不是先前的结果，请改回原名。",
    ),
    "rewriting.already_npu": Words(
        "; {count} script(s) already say npu, or no device, first {first}: transfer_to_npu was not added there{still}",
        "；{count} 个脚本已直接使用 npu 或不涉及设备（首个 {first}），未为其添加 transfer_to_npu{still}",
    ),
    "rewriting.still_cuda": Words(
        "; {count} beside them still say cuda or run a module that does, first {first}: it was added there",
        "；另有 {count} 个脚本或其模块仍使用 cuda（首个 {first}），已添加",
    ),
    "MIG130.replaced": Words(
        "{out} held an earlier result: {count} file(s) of it replaced, first {first}",
        "{out} 中是先前的结果：替换其中 {count} 个文件，首个为 {first}",
    ),
    "MIG130.stale": Words(
        "{out} still holds {count} file(s) of an earlier result that are not in the source now, first {first}",
        "{out} 中还有 {count} 个先前结果的文件，源码中已没有它们，首个为 {first}",
        "Delete them if they are not needed: they were left as they are.",
        "如不需要请删除：这些文件保持原样。",
    ),
    "migration.foreign_out": Words(
        "{path} is not empty and no earlier result of `rewrite`: {count} file(s), {names}{more}; nothing was written",
        "{path} 不是空目录，也不是 `rewrite` 先前的结果：有 {count} 个文件，如 {names}{more}；未写入任何内容",
        "Name a new or empty folder with --out, or add --into-existing: files of the same name then stay as NAME.orig.",
        "请用 --out 指定新目录或空目录；或加上 --into-existing，同名文件将保留为 NAME.orig。",
    ),
    "migration.other_source": Words(
        "{path} holds the result of {source}, not of {now}; nothing was written",
        "{path} 中是 {source} 的结果，而不是 {now} 的；未写入任何内容",
        "Name another folder with --out, or add --into-existing: files of the same name then stay as NAME.orig.",
        "请用 --out 指定其他目录；或加上 --into-existing，同名文件将保留为 NAME.orig。",
    ),
    "migration.out_is_file": Words(
        "{path} is a file: the result needs a folder; nothing was written",
        "{path} 是文件，而结果需要目录；未写入任何内容",
        "Name a folder with --out, or a file with --patch.",
        "请用 --out 指定目录，或用 --patch 指定文件。",
    ),
    "MIG130.not_written": Words(
        "{path} was not written: {why}",
        "{path} 未写入：{why}",
        "The file is as it was. Mend the cause and rewrite again: files already written stay as they are.",
        "该文件保持原样。请排除原因后重新改写：已写入的文件不会再变。",
    ),
    "MIG130.not_rewritten": Words(
        "{path} was not rewritten: {why}",
        "{path} 未改写：{why}",
        "Edit it by hand, and please report it with the file.",
        "请手工修改该文件，并附上文件反馈。",
    ),
    "migration.spelled": Words(
        "{path}: its bytes do not come back from its text in {encoding}: saved again, other places would change too; "
        "no edit was made",
        "{path}：按 {encoding} 解码再编码后字节不同，保存会改动其他位置；未作任何改动",
        "Save the file as UTF-8 (and take the coding line out), then rewrite again.",
        "请先将文件另存为 UTF-8（并去掉编码声明行），再重新改写。",
    ),
    "MIG131.no_script": Words(
        "{count} place(s), the first at {first}, run under transfer_to_npu only, and no file here is seen to be a "
        "script: none imports it",
        "共 {count} 处（首处 {first}）只有在 transfer_to_npu 下才能运行，但这里没有识别出入口脚本：无文件导入它",
        "Put `import torch_npu` and `from torch_npu.contrib import transfer_to_npu` first in the script that runs "
        "this code, or use --mode explicit.",
        "请在运行这些代码的脚本最前面写上 `import torch_npu` 和 `from torch_npu.contrib import transfer_to_npu`，"
        "或改用 --mode explicit。",
    ),
    "MIG131.not_reached": Words(
        "{count} place(s), the first at {first}, run under transfer_to_npu only; no script that imports it is seen to "
        "import them, and {script} was left without it",
        "共 {count} 处（首处 {first}）只有在 transfer_to_npu 下才能运行；未见导入它的脚本引用这些模块，"
        "而 {script} 未添加它",
        "Put `import torch_npu` and `from torch_npu.contrib import transfer_to_npu` first in the script that runs "
        "this code, or write npu there.",
        "请在运行这些代码的脚本最前面写上 `import torch_npu` 和 `from torch_npu.contrib import transfer_to_npu`，"
        "或在这些代码中直接写 npu。",
    ),
    "MIG131.torch_npu": Words("import torch_npu at the top", "在开头导入 torch_npu"),
    "MIG138.named": Words("{name} is {new}", "{name} 即 {new}"),
    "MIG138.imported": Words("{name} is imported as {new}", "{name} 改为导入 {new}"),
    "MIG138.taken_out": Words(
        "transfer_to_npu is not needed: the source says npu", "源码已直接使用 npu，不需要 transfer_to_npu"
    ),
    "MIG138.device": Words("the device {name} is {new}", "设备 {name} 改为 {new}"),
    "MIG138.moved": Words("{name} is {new}", "{name} 改为 {new}"),
    "MIG138.asked": Words("{name} is {new}", "{name} 改为 {new}"),
    "MIG138.backend": Words("the backend {name} is {new}", "后端 {name} 改为 {new}"),
    "MIG138.argument": Words("{name} means CUDA unless told {new}", "{name} 默认指 CUDA，须写明 {new}"),
    "MIG138.no_form": Words(
        "{name} stays: torch_npu has nothing under this name",
        "{name} 保持不变：torch_npu 没有对应名称",
        "transfer_to_npu may handle it (--mode inject); else take it out or replace it by hand.",
        "transfer_to_npu 可能可以处理（--mode inject）；否则请手工删除或替换。",
    ),
    "MIG138.key": Words(
        'the key "{name}" stays: other files, or saved data, may hold it or look it up',
        "键“{name}”保持不变：其他文件或已保存的数据可能含有或查找它",
        "Write npu here and at every place that uses the key if it is looked up by a device's type.",
        "若按设备类型查找该键，请在此处及所有使用处改为 npu。",
    ),
    "MIG138.outside": Words(
        '"{name}" is compared with a value from a configuration file or the environment: both stay',
        "“{name}”与来自配置文件或环境变量的值比较：两者均保持不变",
        "Write npu there and here, or compare with both names.",
        "请将两处都改为 npu，或同时比较两个名称。",
    ),
    "MIG138.read": Words(
        "{name} is read, not called, and stays; a method called cuda is npu now",
        "{name} 被读取而非调用，保持不变；名为 cuda 的方法现为 npu",
        "Write .npu here if it is the method; leave it if it is a flag.",
        "若此处是该方法，请写 .npu；若是标志则不用改。",
    ),
    "migration.mode": Words(
        "there is no mode {mode}",
        "没有模式 {mode}",
        "Give one of: {modes}.",
        "可用：{modes}。",
    ),
    "migration.two_places": Words(
        "the result can go to a folder or over the input, not both",
        "结果只能写入目录或原地写入，不能同时",
        "Give --out or --in-place.",
        "请只用 --out 或 --in-place。",
    ),
    "migration.not_a_patch": Words(
        "{path} is no patch but a file of its own: nothing was written",
        "{path} 不是补丁，而是已有的其他文件：未写入任何内容",
        "Name another file with --patch.",
        "请用 --patch 指定另一个文件。",
    ),
    "migration.other_scan": Words(
        "the scan given with --expect is of other files: it has none of the {count} file(s) to be edited, "
        "{names}{more}; nothing was written",
        "--expect 给出的扫描报告属于其他文件：其中没有待修改的 {count} 个文件，如 {names}{more}；未写入任何内容",
        "Scan what you rewrite: `ascend-workbook scan PATH --json scan.json`, and give that report.",
        "请扫描要改写的内容：`ascend-workbook scan 路径 --json scan.json`，并使用该报告。",
    ),
    "MIG130.not_in_scan": Words(
        "{count} file(s) that are edited are not in the scan given with --expect: {names}{more}",
        "有 {count} 个被修改的文件不在 --expect 给出的扫描报告中：{names}{more}",
    ),
    "migration.no_scan": Words(
        "{path} is no report of `scan` with hashes",
        "{path} 不是带哈希的 `scan` 报告",
        "Write one with `ascend-workbook scan PATH --json scan.json`.",
        "请用 `ascend-workbook scan 路径 --json scan.json` 生成。",
    ),
    "migration.leads_out": Words(
        "a link that leads out of the folder, to {target}", "是指向目录之外 {target} 的链接"
    ),
    "migration.is_link": Words(
        "a link to {target}, which is written under its own name", "是指向 {target} 的链接；目标文件按自身名称写入"
    ),
    "migration.read_only": Words("the file is read-only", "文件为只读"),
    "migration.os_error": Words("{error}", "{error}"),
}
