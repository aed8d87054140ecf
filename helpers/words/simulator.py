"""Words of the simulated NPU: building it, its environment, its Jupyter kernel."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "name.simulator": Words("Simulated NPU", "模拟 NPU"),
    "name.simulator_part": Words("Built for", "构建所用"),
    "name.simulator_version": Words("Version", "版本"),
    "simulator.no_package": Words(
        "{python} has no package {package}",
        "{python} 中没有安装 {package}",
        "Run `make setup`, or install the pair that requirements-torch.txt names.",
        "请运行 `make setup`，或安装 requirements-torch.txt 中给出的版本组合。",
    ),
    "simulator.no_compiler": Words(
        "no C++ compiler: neither $CXX nor g++ nor clang++ was found",
        "未找到 C++ 编译器：$CXX、g++、clang++ 均不可用",
        "Install one, for example `apt-get install g++` or `conda install gxx`, and build again.",
        "请安装编译器，例如 `apt-get install g++` 或 `conda install gxx`，然后重新构建。",
    ),
    "simulator.compiler_failed": Words(
        "the simulator does not compile ({command}): {error}",
        "模拟器编译失败（{command}）：{error}",
        "Check that torch and torch_npu are the versions of requirements-torch.txt.",
        "请检查 torch 与 torch_npu 是否为 requirements-torch.txt 中的版本。",
    ),
    "simulator.not_built": Words(
        "there is no simulated NPU in {path}",
        "{path} 中没有模拟 NPU",
        "Build it: `ascend-workbook simulator build`.",
        "请构建：`ascend-workbook simulator build`。",
    ),
    "simulator.real_cann": Words(
        "a real CANN or driver is here: {path}; the simulated NPU stays out of its way",
        "本机有真实的 CANN 或驱动：{path}；模拟 NPU 不会遮蔽它",
        "To use the simulator all the same: --force, or ASCEND_WORKBOOK_SIM_FORCE=1.",
        "若仍要使用模拟器：加 --force，或设置 ASCEND_WORKBOOK_SIM_FORCE=1。",
    ),
    "simulator.devices": Words(
        "{devices} devices: expected 1 to 64",
        "设备数 {devices}：应为 1 到 64",
    ),
    "simulator.threads": Words(
        "{threads} threads: expected 1 or more",
        "线程数 {threads}：应为 1 或更多",
    ),
    "simulator.no_command": Words(
        "nothing to run: the command after `--` is missing",
        "没有要运行的命令：缺少 `--` 之后的内容",
        "For example: `ascend-workbook simulator run -- python train.py`.",
        "例如：`ascend-workbook simulator run -- python train.py`。",
    ),
    "simulator.not_found": Words(
        "cannot run {command}: {error}",
        "无法运行 {command}：{error}",
    ),
    "simulator.built": Words("{path}: built in {seconds} s", "{path}：已构建，用时 {seconds} 秒"),
    "simulator.up_to_date": Words("{path}: up to date", "{path}：已是最新"),
    "simulator.out_of_date": Words(
        "{path}: out of date (built for torch {torch}, torch_npu {torch_npu})",
        "{path}：已过期（为 torch {torch}、torch_npu {torch_npu} 构建）",
    ),
    "simulator.absent": Words("{path}: not built", "{path}：尚未构建"),
    "simulator.kernel": Words("Jupyter kernel {name}: {path}", "Jupyter 内核 {name}：{path}"),
}
