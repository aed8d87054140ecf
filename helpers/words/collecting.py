"""Words of recording a profile."""

from helpers.words import Words

_ERRORS = {
    "profiling.option_unknown": Words(
        "profile has no option {name}", "profile 没有选项 {name}", "Did you mean {nearest}?", "是否想用 {nearest}？"
    ),
    "profiling.option_not_bool": Words(
        "{name} is {value}; it must be True or False: the profiler takes anything else for False",
        "{name} 为 {value}；必须是 True 或 False，profiler 会把其他值当作 False",
    ),
    "profiling.option_value": Words(
        "{name} is {value}; expected one of: {expected}", "{name} 为 {value}；可选：{expected}"
    ),
    "profiling.metrics_level0": Words(
        "metrics {metrics} cannot be had at level 0: the profiler would drop them without an error",
        "level 0 采集不到 metrics {metrics}：profiler 会不报错地忽略",
        "Record at level 1 or 2.",
        "请以 level 1 或 2 采集。",
    ),
    "profiling.op_attr_text": Words(
        "op_attr is written into the database only, and export is text: nothing of it would come",
        "op_attr 只写入数据库，而 export 为 text：不会得到任何内容",
        "Use export db or both.",
        "请将 export 设为 db 或 both。",
    ),
    "profiling.simulated_db": Words(
        "export {export}: the simulated NPU has no exporter of databases, and torch_npu then writes no text either",
        "export {export}：模拟 NPU 没有数据库导出器，此时 torch_npu 连文本也不会写出",
        "Use export text here.",
        "此处请使用 export text。",
    ),
    "profiling.no_such_rank": Words(
        "ranks {rank} cannot be recorded: there are ranks 0 to {last}",
        "无法采集 rank {rank}：只有 rank 0 到 {last}",
        "Give --nproc, and ranks below it.",
        "请给出 --nproc，以及小于它的 rank。",
    ),
    "profiling.killed": Words(
        "{path}: the recording was killed before anything was written: its record says that it still runs",
        "{path}：采集在写出任何数据之前被终止：其记录仍显示为进行中",
        "Record again; output.log beside it may say what ended it.",
        "请重新采集；旁边的 output.log 可能说明了原因。",
    ),
    "profiling.not_here": Words(
        "{wanted} was asked for, but this process works on {tier}",
        "要求使用 {wanted}，但本进程使用的是 {tier}",
        "Start it with that device's environment (a Jupyter kernel of it, `ascend-workbook simulator run --`), or "
        "profile a script: `ascend-workbook profile --device {wanted} train.py`.",
        "请在该设备的环境中启动（对应的 Jupyter 内核、`ascend-workbook simulator run --`），或对脚本采集："
        "`ascend-workbook profile --device {wanted} train.py`。",
    ),
    "profiling.not_ended": Words(
        "rank {rank} has no report: the block has not ended, or this rank was not recorded",
        "rank {rank} 没有报告：代码块尚未结束，或该 rank 未被采集",
    ),
    "profiling.loop_failed": Words("{error}", "{error}"),
    "PRF300.loop": Words(
        "the loop failed after {done} steps: {trouble}",
        "训练循环在第 {done} 步后失败：{trouble}",
        "Make it run without the recording first.",
        "请先在不采集的情况下跑通。",
    ),
}

_RECORDED = {
    "profiling.data.stack": Words("frames of the call stack", "调用栈帧"),
    "profiling.data.flops": Words("operators with FLOPs", "带 FLOPs 的算子"),
    "profiling.data.metrics": Words("columns of AI Core metrics", "AI Core 指标列"),
    "profiling.data.overhead": Words("steps slower while recorded, %", "采集时每步变慢（%）"),
    "profiling.data.within_noise": Words("within noise", "在波动范围内"),
    "profiling.data.database": Words("databases", "数据库"),
    "PRF300.absent.stack": Words("no call stack was recorded", "没有采集到调用栈"),
    "PRF300.absent.flops": Words("no FLOPs were counted", "没有统计到 FLOPs"),
    "PRF300.absent.metrics": Words("no AI Core metrics were recorded", "没有采集到 AI Core 指标"),
    "PRF300.absent.database": Words("no database was written", "没有写出数据库"),
    "PRF300.absent_ranks": Words(
        "ranks {ranks} of {of} left no profile",
        "{of} 个 rank 中的 {ranks} 没有留下性能数据",
        "Look for their errors in output.log, and whether they took steps at all.",
        "请在 output.log 中查看其错误，以及它们是否训练过。",
    ),
    "PRF300.nothing_said": Words(
        "the script ran {done} steps but the profiler left no data: {why}; its log says: {said}",
        "脚本运行了 {done} 步，但 profiler 没有留下数据：{why}；其日志：{said}",
        "Look into the logs folder of the profile.",
        "请查看数据目录下的 logs。",
    ),
    "PRF300.where": Words(
        "the profile is in {path}",
        "性能数据在 {path}",
        "Next: `ascend-workbook analyse {quoted}`",
        "下一步：`ascend-workbook analyse {quoted}`",
    ),
    "PRF300.room": Words(
        "{path}: the recording would need about {needed_mib} MiB with its parsing, and {limit_mib} MiB are to be had",
        "{path}：采集及解析约需 {needed_mib} MiB，而可用的只有 {limit_mib} MiB",
        "Record fewer steps, fewer ranks or no call stacks, or give another disk (--out) or limit (--limit-mib).",
        "请减少步数或 rank、不采集调用栈，或换一块磁盘（--out）、调整上限（--limit-mib）。",
    ),
    "PRF300.ignored": Words(
        "{names}: of the NPU's profiler only, without effect on {tier}",
        "{names}：仅 NPU 的 profiler 支持，在 {tier} 上无效",
    ),
    "PRF300.not_simulated": Words(
        "{names}: the simulated NPU has no such data",
        "{names}：模拟 NPU 没有这类数据",
        "Record on a real NPU.",
        "请在真实 NPU 上采集。",
    ),
    "PRF300.no_flops": Words(
        "flops: torch_npu takes the option and counts none; a recording with --device cpu or cuda counts them",
        "flops：torch_npu 接受该选项但不统计；用 --device cpu 或 cuda 采集可以得到",
    ),
    "PRF300.modules": Words(
        "modules: torch.profiler records an eager model's modules only with call stacks, so these are recorded too",
        "modules：torch.profiler 只有采集调用栈时才记录 eager 模型的模块，因此同时采集调用栈",
    ),
    "PRF300.otherwise": Words(
        "the profiler used other settings than asked: {changed}",
        "profiler 实际使用的设置与要求不同：{changed}",
        "In brackets what was asked; this version or device does not take it.",
        "括号内为要求的值；该版本或设备不支持。",
    ),
    "PRF300.settings_unknown": Words(
        "which settings the profiler really used is not known: {why}", "无法得知 profiler 实际使用的设置：{why}"
    ),
    "PRF300.overhead": Words(
        "a step took {with_ms} ms while it was recorded and {without_ms} ms before: {percent} %",
        "采集时每步 {with_ms} ms，此前 {without_ms} ms：{percent} %",
    ),
    "PRF300.overhead_large": Words(
        "recording slows the steps: {without_ms} ms before, {with_ms} ms while recorded, {percent} %",
        "采集使每步变慢：此前 {without_ms} ms，采集时 {with_ms} ms，{percent} %",
        "Shares of many short operators are too large in such a profile; without shapes, memory and call stacks it "
        "slows less. Measure speed with `ascend-workbook benchmark`.",
        "此类数据中大量短算子的占比偏大；不采集形状、内存和调用栈可减轻影响。请用 `ascend-workbook benchmark` 测速。",
    ),
    "PRF300.overhead_unknown": Words(
        "what the recording costs is not known: too few steps ran before it, or they differed too much",
        "采集的开销未知：采集前运行的步数太少，或各步差异太大",
        "Let it wait for more steps (--wait 6), on a machine that does nothing else.",
        "请在采集前等待更多步（--wait 6），并使用没有其他负载的机器。",
    ),
    "PRF300.overhead_none": Words(
        "recording cost nothing that shows: {with_ms} ms a step while recorded, {without_ms} ms before",
        "采集没有可见的开销：采集时每步 {with_ms} ms，此前 {without_ms} ms",
    ),
    "PRF307.whole": Words("the recording ended as it should", "采集正常结束"),
    "PRF307.running": Words(
        "the recording was killed before its end: its record still says that it runs",
        "采集在结束前被终止：其记录仍显示为进行中",
        "Record again; what lies here may lack steps, ranks or tables.",
        "请重新采集；这里的数据可能缺少步、rank 或表。",
    ),
    "PRF307.failed": Words(
        "the recording ended early: its script or loop failed, or took too few steps",
        "采集提前结束：脚本或循环失败，或步数不足",
        "Record again; what lies here may lack steps.",
        "请重新采集；这里的数据可能缺少若干步。",
    ),
}

WORDS = {**_ERRORS, **_RECORDED}
