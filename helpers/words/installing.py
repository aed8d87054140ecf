"""Words of the set-up helper and of Jupyter kernels."""

from helpers.words import Words

_HEADINGS = {
    "set_up": ("Set-up", "安装与配置"),
    "set_up_kernel": ("Jupyter kernel", "Jupyter 内核"),
    "installing_step": ("Step", "步骤"),
    "installing_command": ("Command", "命令"),
    "installing_why": ("Why", "说明"),
    "installing_commands": ("Commands", "命令"),
    "installing_variable": ("Variable", "变量"),
}

_PARTS = {
    "situation.modelarts": ("a ModelArts image", "ModelArts 镜像"),
    "situation.server": ("a server with NPUs", "带 NPU 的服务器"),
    "situation.gpu": ("a GPU machine (the baseline)", "GPU 机器（基线）"),
    "situation.laptop": ("a machine without an NPU (simulator)", "没有 NPU 的机器（使用模拟器）"),
    "situation.unsupported": ("a system that is not supported", "不支持的系统"),
    "step.hold": ("what is installed stays: pip gets it as constraints", "保留已安装的版本：作为约束交给 pip"),
    "step.source": ("CANN's environment; with bash, not sh", "CANN 的环境变量；须用 bash，不能用 sh"),
    "step.image": (
        "an environment that sees the image's packages, in the folder that is kept",
        "新建可见镜像软件包的环境，位于会保留的目录中",
    ),
    "step.venv": ("a new environment beside the installed torch", "新建环境，不影响已安装的 torch"),
    "step.torch": ("torch {version}, CPU build, never CUDA's", "torch {version}，CPU 构建（不下载 CUDA 版）"),
    "step.torch_npu": (
        "torch_npu {version}, listed for CANN {cann}; without dependencies, so that torch stays",
        "torch_npu {version}，与 CANN {cann} 配套；不装依赖，从而保留 torch",
    ),
    "step.exchange": (
        "torch_npu {version} in the place of {found}, which belongs to another torch; torch stays",
        "用 torch_npu {version} 替换 {found}（后者属于另一个 torch 版本）；torch 保留",
    ),
    "step.modules": ("Python modules that CANN {cann} imports", "CANN {cann} 所需的 Python 模块"),
    "step.beside": (
        "torch_npu {version} beside the simulator: in site-packages, without CANN, it breaks every import torch",
        "torch_npu {version} 放在模拟器旁：没有 CANN 时装入 site-packages 会使 import torch 失败",
    ),
    "step.simulator": ("builds the simulated NPU (a C++ compiler is needed)", "构建模拟 NPU（需要 C++ 编译器）"),
    "step.workbook": ("the workbook's packages (the same as `make setup`)", "本工具的软件包（与 `make setup` 相同）"),
    "step.kernel": ("a Jupyter kernel that starts with this environment", "以该环境启动的 Jupyter 内核"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"installing.{name}": Words(en, zh) for name, (en, zh) in _PARTS.items()},
    "ENV130.ready": Words(
        "{where}: nothing has to be installed (here: {held})", "{where}：无需安装任何内容（已有：{held}）"
    ),
    "ENV130.steps": Words(
        "{where}: {count} commands make it ready; none was run, and none replaces what is installed ({held})",
        "{where}：执行以下 {count} 条命令即可就绪；尚未执行任何命令，且均不会替换已安装的版本（{held}）",
    ),
    "ENV130.blocked": Words(
        "{where}: pip alone cannot make it ready: {first}", "{where}：仅靠 pip 无法就绪：{first}"
    ),
    "ENV131.kept": Words(
        "installed and kept, never replaced: {held}", "已安装并保留，不会被替换：{held}"
    ),
    "ENV131.unsupported": Words(
        "{system} on {arch} has neither torch_npu wheels nor the simulator",
        "{system}（{arch}）既没有 torch_npu 安装包，也不支持模拟器",
        "Use Linux: x86_64 or aarch64 with NPUs, x86_64 for the simulator (a container or WSL will do).",
        "请使用 Linux：带 NPU 时为 x86_64 或 aarch64，模拟器为 x86_64（容器或 WSL 均可）。",
    ),
    "ENV131.no_cann": Words(
        "CANN is not installed, and pip has none",
        "未安装 CANN，pip 也无法安装",
        "Install CANN {cann} (toolkit, and the kernels of this chip) from https://www.hiascend.com/software/cann, then"
        " run this again.",
        "请从 https://www.hiascend.com/software/cann 安装 CANN {cann}（toolkit 与本芯片的 kernels），然后重新执行。",
    ),
    "ENV131.cann_unknown": Words(
        "the version of the CANN in {path} could not be told: no torch_npu was chosen",
        "无法判断 {path} 中 CANN 的版本：未选择 torch_npu",
        "Look into its version.cfg or install.info, and take the pair from the vendor's table.",
        "请查看其 version.cfg 或 install.info，并按厂商配套表选择。",
    ),
    "ENV131.version": Words(
        "could not tell what version {text} is: nothing was chosen for it",
        "无法识别版本 {text}：未为其选择软件包",
        "Take a released version of torch.",
        "请使用正式发布的 torch。",
    ),
    "ENV131.pair_outside": Words(
        "torch_npu {torch_npu} is published for other CANNs than {cann}: a pair that fits goes into an environment of"
        " its own",
        "torch_npu {torch_npu} 的配套 CANN 不包括 {cann}：配套的版本将装入单独的环境",
    ),
    "ENV131.no_pair": Words(
        "no torch_npu for this torch {torch} is listed for CANN {cann} with a wheel for this Python: a pair that fits"
        " goes into an environment of its own",
        "没有与 torch {torch} 及 CANN {cann} 配套、且适用于当前 Python 的 torch_npu：配套的版本将装入单独的环境",
    ),
    "ENV131.no_wheel": Words(
        "no listed torch_npu for CANN {cann} has a wheel for Python {python} with glibc {glibc} ({wanted} are for"
        " {pythons})",
        "与 CANN {cann} 配套的 torch_npu 没有适用于 Python {python}、glibc {glibc} 的安装包（{wanted} 支持 {pythons}）",
        "Start this with one of those Pythons, on a system with glibc {needs} or newer.",
        "请使用上述 Python 版本之一，并在 glibc {needs} 或更新的系统上执行。",
    ),
    "ENV131.not_listed": Words(
        "the vendor lists no torch_npu for CANN {cann}",
        "厂商配套表中没有与 CANN {cann} 配套的 torch_npu",
        "Look it up in https://github.com/Ascend/pytorch, or take a CANN that is listed.",
        "请在 https://github.com/Ascend/pytorch 查询，或使用配套表中的 CANN。",
    ),
    "ENV131.simulator_wheel": Words(
        "the simulator needs torch_npu {wanted}, which has no wheel for Python {python} here (2.13.0: {pythons})",
        "模拟器需要 torch_npu {wanted}，但没有适用于当前 Python {python} 的安装包（2.13.0 支持：{pythons}）",
        "Make an environment with one of those Pythons and without torch, and run this there.",
        "请用上述 Python 版本之一新建不含 torch 的环境，并在其中执行。",
    ),
    "ENV131.simulator_torch": Words(
        "the simulator is tested with torch {tested}; with torch {torch} it may not build",
        "模拟器以 torch {tested} 测试；使用 torch {torch} 时可能无法构建",
        "If it does not: `python -m venv .venv-sim`, and run this with its Python.",
        "若无法构建：执行 `python -m venv .venv-sim`，并用其中的 Python 重新执行。",
    ),
    "ENV131.image": Words(
        "what is installed into the image's own Python is gone when the instance is started anew; {folder} is kept",
        "安装到镜像自带 Python 中的内容在实例重启后会丢失；{folder} 会保留",
    ),
    "ENV131.gpu": Words(
        "the baseline needs nothing of Ascend's: torch {torch} stays as it is",
        "基线不需要昇腾软件：torch {torch} 保持不变",
    ),
    "ENV132.written": Words(
        "kernel {name} written with {variables} variables; a process of it sees {seen} NPU(s): {path}",
        "已写入内核 {name}（{variables} 个变量）；该环境的进程可见 {seen} 个 NPU：{path}",
    ),
    "ENV132.none": Words(
        "kernel {name} written with {variables} variables, but a process of it sees no NPU: {path}",
        "已写入内核 {name}（{variables} 个变量），但该环境的进程看不到 NPU：{path}",
        "`ascend-workbook check --device npu` says why.",
        "`ascend-workbook check --device npu` 会说明原因。",
    ),
    "ENV132.blind": Words(
        "kernel {name} written with {variables} variables, but torch does not work in it ({seen}): {path}",
        "已写入内核 {name}（{variables} 个变量），但其中的 torch 无法工作（{seen}）：{path}",
        "`ascend-workbook setup` prints what to install.",
        "`ascend-workbook setup` 会给出安装命令。",
    ),
    "ENV132.unseen": Words(
        "the Jupyter server does not look into {path}: it will not list the kernel",
        "Jupyter 服务不在 {path} 中查找内核：它不会列出该内核",
        "Leave --prefix out (the user's folder is taken), or start the server with `JUPYTER_PATH={path}`.",
        "请去掉 --prefix（改为写入用户目录），或用 `JUPYTER_PATH={path}` 启动 Jupyter 服务。",
    ),
    "ENV132.instance": Words(
        "{path} goes with the ModelArts instance",
        "{path} 会随 ModelArts 实例一起释放",
        "Write the kernel again after a restart: `ascend-workbook setup --kernelspec {name}`.",
        "重启后请重新写入内核：`ascend-workbook setup --kernelspec {name}`。",
    ),
    "ENV132.no_ipykernel": Words(
        "ipykernel is not installed for this Python: Jupyter cannot start the kernel",
        "当前 Python 未安装 ipykernel：Jupyter 无法启动该内核",
        "`python -m pip install ipykernel` (it does not touch torch).",
        "执行 `python -m pip install ipykernel`（不影响 torch）。",
    ),
    "kernelspec.name": Words(
        "{name} is no name for a kernel",
        "{name} 不能作为内核名称",
        "Letters, digits, dots, dashes and underscores, up to 100.",
        "只能使用字母、数字、点、短横线与下划线，最多 100 个字符。",
    ),
    "kernelspec.exists": Words(
        "there is a kernel {name} already: {path}",
        "已存在内核 {name}：{path}",
        "Choose another name, or replace it with --force.",
        "请换一个名称，或用 --force 替换。",
    ),
    "kernelspec.device": Words(
        "a kernel for {device} needs no environment of its own",
        "{device} 的内核不需要专门的环境变量",
        "Leave --device out, or give npu or npu-simulated; any other kernel is `python -m ipykernel install`'s.",
        "请去掉 --device，或指定 npu、npu-simulated；其他内核请用 `python -m ipykernel install` 安装。",
    ),
    "kernelspec.no_cann": Words(
        "neither a CANN nor the simulator is here: the kernel would see no NPU",
        "本机既没有 CANN 也没有模拟器：内核看不到 NPU",
        "`ascend-workbook setup` prints what to install.",
        "`ascend-workbook setup` 会给出安装命令。",
    ),
    "kernelspec.sourcing": Words(
        "sourcing set_env.sh of {path} through bash gave no absolute ASCEND_HOME_PATH",
        "通过 bash 执行 {path} 的 set_env.sh 后未得到绝对的 ASCEND_HOME_PATH",
        "Try `bash -c 'source set_env.sh; env'` there; where it fails, CANN is not installed whole.",
        "请在该处执行 `bash -c 'source set_env.sh; env'`；若失败，说明 CANN 安装不完整。",
    ),
}
