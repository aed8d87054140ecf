"""Words of `simulator coverage`: what the simulated NPU does with torch's operator database."""

from helpers.words import Words

_HEADINGS = {
    "coverage": ("Operator coverage of the simulated NPU", "模拟 NPU 的算子覆盖"),
    "coverage_entries": ("Every entry, the worst first", "全部条目（最差者在前）"),
    "coverage_operators": ("Operators that torch_npu implements, by state", "torch_npu 所实现算子的状态"),
    "coverage_percent": ("Passed, of what is not refused", "通过率（不计被拒绝的）"),
    "coverage_percent_of_all": ("Passed, of all", "通过率（计全部）"),
    "coverage_bar": ("Required", "要求"),
    "slice": ("Call", "调用"),
    "outcome": ("Outcome", "结果"),
    "outcome_equal": ("Equal", "相等"),
    "outcome_alike": ("Alike", "相似"),
    "outcome_refused": ("Refused as on a real NPU", "与真实 NPU 一样拒绝"),
    "outcome_skipped": ("Not comparable", "无法比较"),
    "outcome_raises": ("Raises", "报错"),
    "outcome_crashed": ("Crashed", "崩溃"),
    "outcome_mismatch": ("Silently different", "静默不一致"),
    "dtype_support": ("Dtypes of the hardware", "硬件支持的类型"),
    "dtype_source": ("Source", "来源"),
    "simulator_operators": ("Operators of the simulated NPU", "模拟 NPU 的算子"),
    "reason": ("Reason", "原因"),
    "namespace": ("Namespace", "命名空间"),
    "operator_state": ("State", "状态"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    "coverage.good": Words(
        "{passed} of {judged} calls of torch's operator database give the CPU's result, none another one unnoticed",
        "torch 算子库的 {judged} 项调用中，{passed} 项与 CPU 结果一致，没有静默不一致的结果",
    ),
    "coverage.wrong": Words(
        "{wrong} of {total} calls of torch's operator database differ from the CPU without an error, or crash",
        "torch 算子库的 {total} 项调用中，{wrong} 项结果与 CPU 不一致却不报错，或者崩溃",
        "The table below names them, the worst first.",
        "下表列出这些条目，最差者在前。",
    ),
    "coverage.below": Words(
        "too few calls of torch's operator database pass: {slices}",
        "torch 算子库中通过的调用过少：{slices}",
        "The table below names what raises, and why.",
        "下表列出报错的条目及原因。",
    ),
    "coverage.dtype_support": Words(
        "the data types that the hardware takes are known for {known} calls, unknown for {unknown}",
        "{known} 项调用已知硬件支持的数据类型，{unknown} 项未知",
    ),
    "coverage.operators": Words(
        "torch_npu implements {total} operators; {simulated} run on a kernel of the simulator, for {known} of them the"
        " data types that the hardware takes are known; {fallbacks} more fall back to the CPU on the NPU too",
        "torch_npu 实现 {total} 个算子；其中 {simulated} 个由模拟器内核执行，{known} 个已知硬件支持的数据类型；"
        "另有 {fallbacks} 个在 NPU 上也回退到 CPU",
    ),
    "operators.listed": Words(
        "{total} operators; for {unknown} it is not known which data types the hardware takes",
        "共 {total} 个算子；其中 {unknown} 个不知道硬件支持哪些数据类型",
    ),
    "coverage.unknown": Words(
        "torch's operator database has no entry {names}",
        "torch 算子库中没有 {names}",
        "Names are those of torch.testing._internal.common_methods_invocations.op_db, such as nn.functional.gelu.",
        "名称取自 torch.testing._internal.common_methods_invocations.op_db，例如 nn.functional.gelu。",
    ),
    "coverage.no_child": Words(
        "the simulated NPU does not start: {error}",
        "模拟 NPU 无法启动：{error}",
        "Build it again: `ascend-workbook simulator build --force`.",
        "请重新构建：`ascend-workbook simulator build --force`。",
    ),
}
