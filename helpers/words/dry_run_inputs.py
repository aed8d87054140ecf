"""Words of what a dry run is given: notebooks, shell scripts, modules around the script, values drawn at random."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "MIG148.all_cells": Words(
        "all {cells} code cells of the notebook run as one script", "笔记本的全部 {cells} 个代码单元作为一个脚本运行"
    ),
    "MIG148.some_cells": Words(
        "{cells} code cells of the notebook run as one script; {left} cell(s) or line(s) are left out: {places}",
        "笔记本的 {cells} 个代码单元作为一个脚本运行；{left} 个单元或行未运行：{places}",
        "Install and download what they do beforehand; a line of Python that could not be read must be mended first. "
        "Write as Python what the cells below need (%cd as os.chdir, %env as os.environ, %run as import), and give a "
        "script that a cell runs to `dry-run` itself.",
        "请事先完成其中的安装与下载；无法解析的 Python 行需先修正。后续单元所需的操作请改写为 Python"
        "（%cd 改为 os.chdir，%env 改为 os.environ，%run 改为 import）；由单元运行的脚本请直接交给 `dry-run`。",
    ),
    "MIG148.launch": Words(
        "launched as {place} has it: {command}; variables taken over: {names}; not taken over: {left}",
        "按 {place} 启动：{command}；采用的变量：{names}；未采用的变量：{left}",
    ),
    "MIG148.reached": Words(
        "{count} module(s) outside the script's folder are run and migrated with it: {modules} (below {root}; on "
        "PYTHONPATH: {paths}; run in the folder {cwd})",
        "脚本目录之外有 {count} 个模块随之迁移并运行：{modules}（位于 {root}；PYTHONPATH：{paths}；运行目录：{cwd}）",
    ),
    "MIG148.relative": Words(
        "{count} module(s) outside the script's folder are run and migrated with it: {modules} (below {root}; run in "
        "the folder {cwd})",
        "脚本目录之外有 {count} 个模块随之迁移并运行：{modules}（位于 {root}；运行目录：{cwd}）",
    ),
    "MIG148.touched": Words(
        "the training changed {count} of your own files or folders, which are too large to be copied for a dry run: "
        "{paths}",
        "训练改动了您自己的 {count} 个文件或目录（太大，试运行时未复制，只做了链接）：{paths}",
        "Look at them, and give the script another output folder for the dry run.",
        "请检查它们，并为试运行给脚本指定另一个输出目录。",
    ),
    "MIG148.outside": Words(
        "{count} module(s) on PYTHONPATH have no folder in common with the script and run as they are, not migrated: "
        "{modules}",
        "PYTHONPATH 上有 {count} 个模块与脚本没有共同目录，未迁移、按原样运行：{modules}",
        "Rewrite them (`ascend-workbook rewrite`), or put them beside the script for the dry run.",
        "请先改写（`ascend-workbook rewrite`），或在试运行时放到脚本旁。",
    ),
    "dry_run.no_cells": Words(
        "{path} has no code cell to run",
        "{path} 没有可运行的代码单元",
        "Give the notebook or script that trains.",
        "请给出执行训练的笔记本或脚本。",
    ),
    "dry_run.cell_file": Words(
        "a cell writes {path}, and Python cannot read it",
        "有单元写出 {path}，但 Python 无法解析",
        "Mend the cell that begins with %%writefile {path}.",
        "请修正以 %%writefile {path} 开头的单元。",
    ),
    "shell_launch.none": Words(
        "{path} has no command that launches a training (python, torchrun, accelerate launch)",
        "{path} 中没有启动训练的命令（python、torchrun、accelerate launch）",
        "Give the command itself: ascend-workbook dry-run torchrun --nproc_per_node=2 train.py --epochs 1",
        "请直接给出命令：ascend-workbook dry-run torchrun --nproc_per_node=2 train.py --epochs 1",
    ),
    "shell_launch.other_scripts": Words(
        "{path} launches no training itself, it runs other scripts: {scripts}",
        "{path} 本身不启动训练，而是运行其他脚本：{scripts}",
        "Give the one that launches the training, with its arguments: ascend-workbook dry-run run.sh ARGUMENTS",
        "请给出启动训练的那个脚本及其参数：ascend-workbook dry-run run.sh 参数",
    ),
    "shell_launch.several": Words(
        "{path} has {count} launch commands, and which to run cannot be told: {commands}",
        "{path} 中有 {count} 条启动命令，无法判断运行哪一条：{commands}",
        "Give one of them itself, its variables filled in: "
        "ascend-workbook dry-run torchrun --nproc_per_node=2 train.py",
        "请直接给出其中一条，并填好变量：ascend-workbook dry-run torchrun --nproc_per_node=2 train.py",
    ),
    "shell_launch.not_plain": Words(
        "the launch command cannot be taken from the shell script: {why}. Found: {command}",
        "无法从 shell 脚本中取出启动命令：{why}。找到：{command}",
        "Give the command itself, its variables filled in: "
        "ascend-workbook dry-run torchrun --nproc_per_node=2 train.py",
        "请直接给出命令，并填好变量：ascend-workbook dry-run torchrun --nproc_per_node=2 train.py",
    ),
    "shell_launch.unknown": Words(
        "{text} is set neither by the script nor in this environment, or only a shell can tell its value",
        "脚本与当前环境均未设置 {text}，或其值只能由 shell 得出",
    ),
    "shell_launch.conditional": Words(
        "it stands in a condition, a loop or a function", "它位于条件、循环或函数之中"
    ),
    "shell_launch.starter": Words(
        "{starter} starts it in a way of its own", "它由 {starter} 以自有方式启动"
    ),
    "MIG140.at": Words(" at `{code}`", "（`{code}`）"),
    "MIG140.original": Words(
        ". It is the original that fails by itself here: the migrated script was not run, and this says nothing of the "
        "NPU",
        "。失败的是原脚本本身：迁移后的脚本没有运行，这不说明 NPU 上的任何问题",
    ),
    "MIG140.log": Words("the whole output is in {log}", "完整输出见 {log}"),
    "MIG140.cause": Words("cause: {cause}", "原因：{cause}", "{fix}", "{fix}"),
    "MIG140.migrated": Words(
        "{script}, or a module of it, imports torch_npu: it is migrated already, and dry-run takes the original",
        "{script}（或其模块）导入了 torch_npu，即已经迁移；dry-run 需要的是原脚本",
        "Give the original: `ascend-workbook dry-run ORIGINAL.py`. Or only run the migrated one on the simulated NPU: "
        "`ascend-workbook simulator run -- python {command}`.",
        "请给出原脚本：`ascend-workbook dry-run 原脚本.py`；或只在模拟 NPU 上运行已迁移的脚本："
        "`ascend-workbook simulator run -- python {command}`。",
    ),
    "MIG140.missing": Words(
        "the Python package of {module} is not in this interpreter",
        "当前 Python 解释器中缺少模块 {module} 所属的包",
        "Install it for the same Python: `{python} -m pip install {package}`. A package built for CUDA may have a "
        "replacement: `ascend-workbook scan {script}` names it.",
        "请为同一个 Python 安装：`{python} -m pip install {package}`。面向 CUDA 的包可能有替代方案："
        "`ascend-workbook scan {script}` 会指出。",
    ),
    "MIG140.unprepared": Words(
        "the script does not find its own data, or lacks an argument",
        "脚本找不到自己的数据，或缺少参数",
        "Prepare the data first, as the project's own instructions say, and give the script's own arguments behind it: "
        "`ascend-workbook dry-run {script} --its-option VALUE`.",
        "请先按该项目自己的说明准备数据，并把脚本自身的参数写在脚本之后："
        "`ascend-workbook dry-run {script} --脚本选项 值`。",
    ),
    "MIG140.of_backward": Words(
        "these losses are what backward() started from, the mean of up to {count} in a step: where the script divides "
        "its loss before (gradient accumulation), it prints another number; --loss-regex takes the printed one",
        "此处的损失取自 backward() 的起点，是一步内（至多 {count} 次）的平均：若脚本在此之前"
        "对损失做了除法（梯度累积），"
        "则与其打印的数值不同；可用 --loss-regex 取打印值",
    ),
    "MIG140.of_output": Words(
        "these losses are read from the output (--loss-regex), not from backward()",
        "此处的损失取自输出（--loss-regex），而不是 backward()",
    ),
    "dry_run.migrated": Words(
        "{script} imports torch_npu: it is migrated already, and dry-run takes the original",
        "{script} 导入了 torch_npu，即已经迁移；dry-run 需要的是原脚本",
        "Give the original: `ascend-workbook dry-run ORIGINAL.py`. Or only run the migrated one on the simulated NPU: "
        "`ascend-workbook simulator run -- python {command}`.",
        "请给出原脚本：`ascend-workbook dry-run 原脚本.py`；或只在模拟 NPU 上运行已迁移的脚本："
        "`ascend-workbook simulator run -- python {command}`。",
    ),
    "MIG140.scanned": Words("what `scan` says of this line: {said}", "`scan` 对该行的判断：{said}"),
    "MIG149.parted": Words(
        "{steps} step(s): losses part ({worst} at step {step}), and values were drawn at random on the NPU {when}: "
        "its generator gives others than the baseline's, so these losses prove neither a fault nor agreement. "
        "Drawn at: {places}",
        "{steps} 步：损失出现差异（第 {step} 步为 {worst}），且{when}在 NPU 上生成了随机数：其生成器与基线不同，"
        "因此这些损失既不能证明有错，也不能证明一致。生成处：{places}",
        "For the comparison draw on the CPU and move (torch.randn(..., device='cpu').to(device)), set dropout to 0 "
        "(also attention's dropout_p and what a model's configuration sets), then run again.",
        "比较时请在 CPU 上生成后再移到设备（torch.randn(..., device='cpu').to(device)），把 dropout 设为 0"
        "（包括注意力的 dropout_p 与模型配置中的设置），然后重新运行。",
    ),
    "MIG149.drawn": Words(
        "values were drawn at random on the NPU {when}, and the losses agree all the same: what was drawn did not "
        "reach them. Drawn at: {places}",
        "{when}在 NPU 上生成了随机数，但损失仍然一致：这些随机数没有影响损失。生成处：{places}",
    ),
    "MIG149.within": Words(
        "{steps} step(s): losses differ by no more than is allowed ({worst} at step {step}), though values were drawn "
        "at random on the NPU {when} and its generator gives others than the baseline's: a fault that small would not "
        "be seen. Drawn at: {places}",
        "{steps} 步：损失差异在允许范围内（第 {step} 步为 {worst}），但{when}在 NPU 上生成了随机数，其生成器与基线不同"
        "：同样小的错误不会被发现。生成处：{places}",
        "For a strict comparison draw on the CPU and move (torch.randn(..., device='cpu').to(device)), set dropout to "
        "0 (also attention's dropout_p and what a model's configuration sets), then run again.",
        "如需严格比较，请在 CPU 上生成后再移到设备（torch.randn(..., device='cpu').to(device)），把 dropout 设为 0"
        "（包括注意力的 dropout_p 与模型配置中的设置），然后重新运行。",
    ),
    "MIG149.before": Words("before the first step", "在第一步之前"),
    "MIG149.step": Words("in step {step}", "在第 {step} 步"),
    "MIG149.modules": Words("modules {names} ({count} that draw)", "模块 {names}（共 {count} 个会生成随机数）"),
    "MIG149.nowhere": Words(
        "no line of the script's own files; a library's (`ascend-workbook operators` names the operators)",
        "不在脚本自身的文件中，而在某个库中（`ascend-workbook operators` 会列出算子）",
    ),
}
