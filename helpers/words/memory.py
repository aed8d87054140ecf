"""Words of the profile's memory: its peak, its curve, and what to change about it."""

from helpers.words import Words

_HEADINGS = {
    "memory_peak": ("Memory at the peak", "峰值时的内存"),
    "memory_curve": ("Memory over time", "内存曲线"),
    "memory_held": ("Held", "占用"),
    "allocations": ("Allocations", "分配次数"),
    "memory_at": ("Time", "时间"),
    "memory_allocated": ("Allocated", "已分配"),
    "memory_reserved": ("Reserved", "已保留"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    "profiling.memory.earlier": Words(
        "before the recording (parameters, optimizer state)", "采集之前分配（参数、优化器状态）"
    ),
    "PRF324.absent": Words(
        "memory not looked at: the profile holds no record of the allocator (memory_record.csv)",
        "未检查内存：数据中没有内存分配器的记录（memory_record.csv）",
        "Record with profile_memory=True, or with `ascend-workbook profile`.",
        "请以 profile_memory=True 采集，或使用 `ascend-workbook profile`。",
    ),
    "PRF324.unread": Words("memory not looked at: {error}", "未检查内存：{error}"),
    "PRF324.no_table": Words(
        "memory not looked at: only an NPU's profile has the allocator's table",
        "未检查内存：只有 NPU 的性能数据带有内存分配器的记录表",
        "Here use torch.cuda.memory_summary(), or torch.cuda.max_memory_allocated() after a step.",
        "此处请使用 torch.cuda.memory_summary()，或在一步之后使用 torch.cuda.max_memory_allocated()。",
    ),
    "PRF324.curve": Words(
        "over {span_ms} ms the peaks of what is allocated lie between {least_mb} and {most_mb} MB",
        "{span_ms} ms 内，已分配内存的峰值在 {least_mb} 到 {most_mb} MB 之间",
    ),
    "PRF324.peak": Words(
        "at its peak, {at_ms} ms after the first record, {mb} MB are allocated of {reserved} MB reserved ({unused} % "
        "unused); most of what was allocated while recorded is held by {operator}, {operator_mb} MB",
        "峰值出现在首条记录后 {at_ms} ms：已分配 {mb} MB，保留 {reserved} MB（{unused} % 未用）；"
        "采集期间分配的内存中占用最多的是 {operator}，{operator_mb} MB",
    ),
    "PRF343.topic": Words("memory in pieces", "内存碎片"),
    "PRF343.absent": Words(
        "memory in pieces: not looked at, for there is no record of a real device's allocator",
        "内存碎片：未检查，没有真实设备的分配器记录",
    ),
    "PRF343.little": Words(
        "memory in pieces: at the peak {mb} MB ({unused} %) of the reserved memory are unused, which is little",
        "内存碎片：峰值时保留的内存中仅 {mb} MB（{unused} %）未用",
    ),
    "PRF343.change": Words(
        "at the peak {mb} MB ({unused} %) of the reserved memory are unused: memory, not time, can be saved",
        "峰值时保留的内存中有 {mb} MB（{unused} %）未用：可省内存而非时间",
        "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True (without max_split_size_mb and "
        "garbage_collection_threshold). Where others share the device, "
        "torch_npu.npu.set_per_process_memory_fraction(0.9).",
        "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True（不可与 max_split_size_mb、"
        "garbage_collection_threshold 同用）。与他人共用设备时 torch_npu.npu.set_per_process_memory_fraction(0.9)。",
    ),
    "PRF343.excluded": Words(
        "at the peak {mb} MB ({unused} %) of the reserved memory are unused, with PYTORCH_NPU_ALLOC_CONF={told}",
        "峰值时保留的内存中有 {mb} MB（{unused} %）未用，PYTORCH_NPU_ALLOC_CONF={told}",
        "Replace it: export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, which excludes the options set now.",
        "请替换为 export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True，它与当前所设选项互斥。",
    ),
    "PRF343.on": Words(
        "at the peak {mb} MB ({unused} %) of the reserved memory are unused though segments can grow ({told})",
        "峰值时保留的内存中有 {mb} MB（{unused} %）未用，虽已启用可扩展段（{told}）",
        "An earlier peak reserved it: torch_npu.npu.empty_cache() after the first step or after evaluation.",
        "由更早的峰值保留：在首步或评估之后 torch_npu.npu.empty_cache()。",
    ),
    "PRF344.topic": Words("memory between streams", "多流内存复用"),
    "PRF344.alone": Words("memory between streams: no collectives", "多流内存复用：没有集合通信"),
    "PRF344.on": Words("memory between streams is reused", "已启用多流内存复用"),
    "PRF344.change": Words(
        "MULTI_STREAM_MEMORY_REUSE=0: what collectives use is given back late; memory, not time, can be saved",
        "MULTI_STREAM_MEMORY_REUSE=0：集合通信占用的内存延迟释放；可省内存而非时间",
        "unset MULTI_STREAM_MEMORY_REUSE (its default, 1, reuses).",
        "unset MULTI_STREAM_MEMORY_REUSE（默认值 1 即复用）。",
    ),
}
