"""Words of the operator support of a traced step, and of the pass without values."""

from helpers.words import Words

_HEADINGS = {
    "operator_support": ("Operators of one training step on an NPU", "一个训练步的算子在 NPU 上的支持情况"),
    "meta_pass": ("Dry run without values: shapes, data types, operators", "无数值试运行：形状、数据类型与算子"),
    "npu_support": ("torch_npu", "torch_npu"),
    "step_part": ("Part", "阶段"),
    "first_line": ("First called from", "首次调用处"),
    "documents": ("Documents say", "文档说明"),
}

_SUPPORT = {
    "native": ("native", "原生支持"),
    "collective": ("native (HCCL)", "原生支持（HCCL）"),
    "composite": ("made of others", "由其他算子组成"),
    "made_of": ("made of {operators}", "由 {operators} 组成"),
    "fallback": ("CPU fallback", "回退到 CPU"),
    "unsupported": ("unsupported", "不支持"),
    "unknown": ("not known", "未知"),
    "cpu_choice": ("CPU only; an NPU takes another", "仅 CPU 采用，NPU 另有实现"),
    "host": ("on the CPU by the script", "脚本本就在 CPU 上执行"),
}

_DOCUMENTS = {
    "none": ("not listed", "未列出"),
    "yes": ("{api}: supported", "{api}：支持"),
    "yes_beyond": ("{api}: supported, {dtype} not listed", "{api}：支持，未列出 {dtype}"),
    "falls_back": ("{api}: supported, perhaps on the CPU", "{api}：支持，但可能回退到 CPU"),
    "falls_back_beyond": (
        "{api}: supported, perhaps on the CPU, {dtype} not listed",
        "{api}：支持，但可能回退到 CPU，未列出 {dtype}",
    ),
    "no": ("{api}: not supported", "{api}：不支持"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"operators.support.{name}": Words(en, zh) for name, (en, zh) in _SUPPORT.items()},
    **{f"operators.documents.{name}": Words(en, zh) for name, (en, zh) in _DOCUMENTS.items()},
    "operators.part.forward": Words("forward", "前向"),
    "operators.part.backward": Words("backward", "反向"),
    "operators.part.optimizer": Words("optimizer", "优化器"),
    "operators.no_line": Words("no line of the script's folder", "不在脚本目录的代码中"),
    "operators.of_forward": Words("gradient of {place}", "{place} 的梯度"),
    "MIG170.on_npu": Words(
        "{operators} operators, {calls} calls in a step: {native} native, {composite} made of others, {fallback} fall "
        "back to the CPU, {unsupported} unsupported, {unknown} not known; {host} more run on the CPU by "
        "the script itself",
        "一步共 {operators} 个算子、{calls} 次调用：{native} 个原生支持，{composite} 个由其他算子组成，"
        "{fallback} 个回退到 CPU，{unsupported} 个不支持，{unknown} 个未知；另有 {host} 个由脚本自身在 CPU 上执行",
    ),
    "MIG170.elsewhere": Words(
        "{operators} operators, {calls} calls in a step: {native} native, {composite} made of others, {fallback} would "
        "fall back to the CPU, {unsupported} unsupported, {unknown} not known",
        "一步共 {operators} 个算子、{calls} 次调用：{native} 个原生支持，{composite} 个由其他算子组成，"
        "{fallback} 个将回退到 CPU，{unsupported} 个不支持，{unknown} 个未知",
    ),
    "MIG171.fallback": Words(
        "{operator} ({dtypes}), {calls} calls a step: torch_npu has no kernel and runs it on the CPU; documents: "
        "{documents}",
        "{operator}（{dtypes}），每步 {calls} 次：torch_npu 没有内核，回退到 CPU 执行；文档：{documents}",
        "Each call waits for the device and copies to the CPU and back: compute it another way, or outside the loop.",
        "每次调用都要等待设备并往返拷贝：请换一种算法，或移出训练循环。",
    ),
    "MIG171.unsupported": Words(
        "{operator} ({dtypes}), {calls} calls a step: torch_npu has no kernel and the CPU has none to fall back to; "
        "documents: {documents}",
        "{operator}（{dtypes}），每步 {calls} 次：torch_npu 没有内核，CPU 也没有可回退的内核；文档：{documents}",
        "The call raises on an NPU: replace it by other operators.",
        "在 NPU 上调用会报错：请改用其他算子。",
    ),
    "MIG171.unknown": Words(
        "{operator} ({dtypes}), {calls} calls a step: neither torch_npu nor the table knows it; documents: {documents}",
        "{operator}（{dtypes}），每步 {calls} 次：torch_npu 与对照表均无此算子；文档：{documents}",
        "It belongs to a library or another version of PyTorch: look whether that library has an NPU build.",
        "它属于第三方库或其他版本的 PyTorch：请确认该库是否有 NPU 版本。",
    ),
    "MIG172.promised": Words(
        "the documents list as supported, torch_npu registers no NPU kernel: {operators}",
        "文档列为支持，而 torch_npu 未注册 NPU 内核：{operators}",
        "What is registered decides what runs: expect the CPU fallback, and ask for the kernel if it costs time.",
        "实际行为以注册为准：会回退到 CPU；如影响性能，请向社区反馈。",
    ),
    "MIG172.denied": Words(
        "the documents say not supported, torch_npu registers an NPU kernel: {operators}",
        "文档称不支持，而 torch_npu 已注册 NPU 内核：{operators}",
        "Try it on the hardware: a registered kernel may still refuse data types or shapes.",
        "请在真实硬件上验证：已注册的内核仍可能拒绝某些数据类型或形状。",
    ),
    "MIG173.unlisted": Words(
        "{count} uses of a data type that the documents do not list for the API: {apis}",
        "有 {count} 处使用了文档未为该接口列出的数据类型：{apis}",
        "Not listed is not refused; test these on the hardware first.",
        "未列出不等于不支持；请优先在真实硬件上验证。",
    ),
    "MIG174.instead": Words(
        "on {tier} the script failed before a whole step was traced: {why}. What follows was traced on the CPU",
        "脚本在 {tier} 上未完成一个被跟踪的步即失败：{why}。以下结果改在 CPU 上跟踪",
        "The whole output is in {log}.",
        "完整输出见 {log}。",
    ),
    "MIG174.failed": Words(
        "no operator was traced, the script failed: {why}",
        "脚本失败，未跟踪到任何算子：{why}",
        "The whole output is in {log}.",
        "完整输出见 {log}。",
    ),
    "MIG174.partly": Words(
        "the script failed within the traced step, what is listed is not all: {why}",
        "脚本在被跟踪的步中失败，列出的算子不完整：{why}",
        "The whole output is in {log}.",
        "完整输出见 {log}。",
    ),
    "MIG174.no_step": Words(
        "the script ended after {steps} step(s), before one could be traced whole",
        "脚本在 {steps} 步后结束，未能跟踪到完整的一步",
        "Trace from the first forward on (--warmup 0), or let it take more steps.",
        "请从第一次前向开始跟踪（--warmup 0），或让脚本多跑几步。",
    ),
    "MIG175.dispatcher": Words(
        "traced on {tier}; support read from the dispatcher of torch_npu {torch_npu}",
        "在 {tier} 上跟踪；支持情况读自 torch_npu {torch_npu} 的调度器",
    ),
    "MIG175.table": Words(
        "traced {ran}; support from a table of torch_npu {table}'s registrations, not from an installed one",
        "{ran}跟踪；支持情况取自 torch_npu {table} 的注册对照表，而非已安装的版本",
    ),
    "MIG175.other": Words(
        "traced {ran} with torch {torch}; the table of registrations is torch_npu {table}'s: other versions differ",
        "{ran}以 torch {torch} 跟踪；对照表取自 torch_npu {table}：不同版本会有差异",
        "Install the pair of versions you will train with, and trace again.",
        "请安装实际训练所用的版本组合后重新跟踪。",
    ),
    "MIG175.on_cpu": Words("on the CPU", "在 CPU 上"),
    "MIG175.on_fake": Words("on tensors without values", "用无数值的张量"),
    "MIG176.state": Words(
        "held from step to step: {total} MiB (parameters {parameters}, gradients {gradients}, optimizer {optimizer}"
        "); activations come on top",
        "跨步常驻：{total} MiB（参数 {parameters}，梯度 {gradients}，优化器 {optimizer}）；激活另计",
    ),
    "MIG177.dtypes": Words(
        "not shown: which data types, shapes and layouts a kernel takes on real hardware, and how fast it is there",
        "未说明：真实硬件上内核支持的数据类型、形状与内存格式，以及其速度",
    ),
    "MIG177.rest": Words(
        "not shown: operators of other inputs, of later steps and of the evaluation, and how fast each is",
        "未说明：其他输入、后续步骤及评估所用的算子，以及各算子的速度",
    ),
    "MIG177.cpu": Words(
        "not shown on the CPU: operators that torch_npu puts in the place of several (attention, fused optimizers), "
        "and which calls the script meant for the CPU",
        "在 CPU 上无法说明：torch_npu 用融合算子替换的部分（注意力、融合优化器），以及哪些调用本就在 CPU 上执行",
    ),
    "MIG177.values": Words(
        "not shown without values: losses, branches that depend on values (each value read was taken for 1), data "
        "loading, memory of activations",
        "无数值时不能说明：损失、依赖数值的分支（读取的数值一律视为 1）、数据加载、激活占用的内存",
    ),
    "MIG146.passed": Words(
        "the model was built and took one step on tensors without values; nothing was computed or compared",
        "模型已构建，并用无数值的张量走完一步；未做任何计算与比较",
        "Then compare losses on a reduced configuration: `ascend-workbook dry-run` names one where memory runs out.",
        "随后请用缩小的配置比较损失：内存不足时 `ascend-workbook dry-run` 会给出可用的配置。",
    ),
    "MIG146.stuck": Words(
        "the pass on tensors without values did not complete a step: where the script needs values it cannot go on",
        "无数值试运行未能走完一步：脚本需要真实数值之处无法继续",
        "Reduce the model by the script's own options and dry-run it with values.",
        "请用脚本自身的选项缩小模型，再进行有数值的试运行。",
    ),
}
