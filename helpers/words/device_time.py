"""Words of the device's idle time, launches and units."""

from helpers.words import Words

_HEADINGS = {
    "idle_time": ("Why the device rests", "设备为何空闲"),
    "launching": ("Launching kernels", "计算核下发"),
    "units": ("Units of the NPU", "NPU 各计算单元"),
    "idle_meaning": ("Meaning", "含义"),
    "launch_number": ("What", "项目"),
    "device_unit": ("Unit", "单元"),
    "unit_of": ("In", "单位"),
    "kernels": ("Kernels", "计算核数"),
    "recorded_time": ("Time recorded", "采集到的耗时"),
    "bound_by_computing": ("Bound by computing", "受限于计算"),
    "bound_by_memory": ("Bound by memory", "受限于访存"),
    "bound_by_neither": ("Bound by neither", "两者皆非"),
    "operator_dtype": ("Data types", "数据类型"),
    "called_from": ("Called from", "调用处"),
    "cube_utilisation": ("Cube utilisation", "Cube 利用率"),
}
_IDLE = {
    "loading": ("waiting for data", "等待数据"),
    "compiling": ("building kernels", "编译计算核"),
    "synchronisation": ("after a synchronisation", "同步之后"),
    "host": ("host launches too late", "主机下发太晚"),
    "start": ("launched, not started", "已下发、未开始"),
    "unexplained": ("unexplained", "原因不明"),
}
_MEANS = {
    "loading": ("a DataLoader's next() goes on while the device is idle", "DataLoader 的 next() 进行时设备空闲"),
    "compiling": (
        "before the next launch the host builds or loads kernels (warm-up, changing shapes)",
        "下一次下发之前，主机在编译或加载计算核（预热、形状变化）",
    ),
    "synchronisation": (
        "the device ran dry while the host waited for it; until the host launched the next kernel",
        "主机等待设备期间设备已无任务；直到主机下发下一个计算核",
    ),
    "host": (
        "the device ran dry and the host was still preparing; until it launched the next kernel",
        "设备已无任务而主机仍在准备；直到主机下发下一个计算核",
    ),
    "start": (
        "the next kernel was launched but had not started: transfer of the task, or waiting for another stream",
        "下一个计算核已下发但未开始：任务传递，或等待其他流",
    ),
    "unexplained": (
        "the profile does not tell when the next kernel was launched",
        "数据中没有下一个计算核的下发时刻",
    ),
}
_LAUNCH = {
    "kernels": ("kernels a step", "每步计算核数"),
    "mean": ("mean kernel", "计算核平均耗时"),
    "launched": ("launches of kernels a step (those of one count as one below)", "每步下发次数（以下每次按一个计）"),
    "short": ("kernels under 10 us", "短于 10 us 的计算核"),
    "short_time": ("time in these, of all kernels' time", "其耗时占全部计算核耗时"),
    "latency": ("launch to start, median", "下发到开始，中位数"),
    "latency_high": ("launch to start, 95th percentile", "下发到开始，95 分位"),
    "queue": ("queued kernels at a launch, median", "下发时排队的计算核，中位数"),
    "queue_high": ("queued kernels at a launch, 95th percentile", "下发时排队的计算核，95 分位"),
    "known": ("events with a known launch", "下发时刻已知的事件"),
}
_UNITS = {
    "core": ("AI core (cube or vector, not told apart)", "AI Core（未区分 cube 与 vector）"),
    "cube": ("AI core, cube", "AI Core（cube）"),
    "vector": ("vector core", "Vector Core"),
    "mixed": ("cube and vector together", "cube 与 vector 混合"),
    "ai_cpu": ("AI CPU", "AI CPU"),
    "dsa": ("DSA (random numbers)", "DSA（随机数）"),
    "other": ("another unit", "其他单元"),
    "unnamed": ("not told", "未知"),
}
_FINDINGS = {
    "PRF321.no_device": Words("idle time not looked at: there are no device times", "未检查空闲原因：没有设备侧耗时"),
    "PRF321.no_launches": Words(
        "the device is idle for {share} % of the step, waiting for data included; why is not told: the profile lacks "
        "the launches",
        "设备在每步中有 {share} % 的时间空闲（含等待数据）；原因未知：数据中没有下发时刻",
        "Analyse the folder with its trace_view.json or database, not its tables alone.",
        "请分析带有 trace_view.json 或数据库的目录，而不只是其中的表格。",
    ),
    "PRF321.devices": Words(
        "why the device rests was not looked at: kernels of {count} devices are in one trace",
        "未检查空闲原因：同一份数据中有 {count} 个设备的计算核",
    ),
    "PRF322.devices": Words(
        "launches not judged: kernels of {count} devices are in one trace",
        "未评判下发：同一份数据中有 {count} 个设备的计算核",
    ),
    "PRF322.shared": Words(
        "{launches} launches a step began {kernels} kernels (graphs): those of one launch count as one kernel here",
        "每步 {launches} 次下发启动了 {kernels} 个计算核（图）：同一次下发的计算核在此按一个计",
    ),
    "PRF321.none": Words("the device never rests", "设备从不空闲"),
    "PRF322.no_device": Words(
        "launches not judged: there are no times of a real device", "未评判下发：没有真实设备的耗时"
    ),
    "PRF322.no_kernels": Words("launches not judged: no kernel was recorded", "未评判下发：没有采集到计算核"),
    "PRF322.no_launches": Words(
        "launches not judged: of {of} device events only {known} have a known launch",
        "未评判下发：{of} 个设备事件中只有 {known} 个的下发时刻已知",
    ),
    "PRF322.few": Words(
        "short kernels do not set the pace: {short} % of {kernels} kernels a step take under 10 us, and the device "
        "waits {share} % of the step for launches",
        "短计算核未构成瓶颈：每步 {kernels} 个计算核中 {short} % 短于 10 us，设备等待下发占每步的 {share} %",
    ),
    "PRF322.many": Words(
        "{short} % of {kernels} kernels a step take under 10 us, and the device waits {share} % of the step for "
        "launches; fewer and larger kernels save at most {gain_ms} ms",
        "每步 {kernels} 个计算核中 {short} % 短于 10 us，设备等待下发占每步的 {share} %；"
        "使用更少更大的计算核最多可省 {gain_ms} ms",
        "Fuse (torch.compile, fused optimizer and norms), raise the batch size, on an NPU TASK_QUEUE_ENABLE=2.",
        "融合（torch.compile、融合优化器与归一化）、增大 batch，NPU 上设置 TASK_QUEUE_ENABLE=2。",
    ),
    "PRF322.late": Words(
        "the device waits {share} % of the step for launches, though few kernels are short ({short} % of {kernels} a "
        "step take under 10 us): the host launches too late; at most {gain_ms} ms",
        "设备每步有 {share} % 的时间在等待下发，而短计算核不多（每步 {kernels} 个中 {short} % 短于 10 us）："
        "主机下发太晚；最多 {gain_ms} ms",
        "See in the timeline what the host does meanwhile (Python, logging, waiting), and move it out of the step.",
        "请在时间线中查看主机此时在做什么（Python 工作、日志、等待），并移出训练步。",
    ),
    "PRF323.no_npu": Words("units of an NPU not looked at: not a real NPU", "未检查 NPU 计算单元：不是真实 NPU"),
    "PRF323.no_table": Words(
        "what bounds the kernels was not looked at: there is no kernel_details.csv",
        "未检查计算核受限于什么：没有 kernel_details.csv",
    ),
    "PRF323.no_metrics": Words(
        "what bounds the kernels was not looked at: the metrics are absent",
        "未检查计算核受限于什么：没有相应指标",
        "Record with `ascend-workbook profile`, or with ProfilerLevel.Level1 and AiCMetrics.PipeUtilization.",
        "请用 `ascend-workbook profile` 采集，或设置 ProfilerLevel.Level1 与 AiCMetrics.PipeUtilization。",
    ),
    "PRF323.rows": Words(
        "{path}: {rows} rows have another number of cells than the heading (the first in line {line}) and were left "
        "out; what is told of kernels is of the other {kernels}",
        "{path}：有 {rows} 行的单元格数与表头不符（首个在第 {line} 行），已略去；"
        "有关计算核的数字只来自其余 {kernels} 行",
        "Copy the file again, or let torch_npu write it anew from the raw data (torch_npu.profiler.profiler.analyse).",
        "请重新复制该文件，或用 torch_npu.profiler.profiler.analyse 由原始数据重新生成。",
    ),
    "PRF323.cells": Words(
        "{path}: {cells} cells are no numbers (the first: {cell}) and count as not told",
        "{path}：有 {cells} 个单元格不是数字（首个：{cell}），按未给出处理",
        "Copy the file again, or let torch_npu write it anew from the raw data (torch_npu.profiler.profiler.analyse).",
        "请重新复制该文件，或用 torch_npu.profiler.profiler.analyse 由原始数据重新生成。",
    ),
    "PRF323.bounds": Words(
        "of the kernels' time {computing} % is bound by computing, {memory} % by memory, {neither} % by neither",
        "计算核耗时中 {computing} % 受限于计算，{memory} % 受限于访存，{neither} % 两者皆非",
    ),
}
_HINTS = {
    "loading": (
        "DataLoader(num_workers=8, persistent_workers=True, pin_memory=True, prefetch_factor=4).",
        "使用 DataLoader(num_workers=8, persistent_workers=True, pin_memory=True, prefetch_factor=4)。",
    ),
    "compiling": (
        "Keep shapes fixed; on an NPU torch_npu.npu.set_compile_mode(jit_compile=False) before training.",
        "保持形状固定；NPU 上在训练前调用 torch_npu.npu.set_compile_mode(jit_compile=False)。",
    ),
    "synchronisation": (
        "Read losses every so many steps only: total += loss.detach(), and total.item() at the end of an epoch.",
        "隔若干步再读取损失：total += loss.detach()，每个 epoch 末再 total.item()。",
    ),
    "host": (
        "Give the device more work per launch: larger batch, fused optimizer, torch.compile; on an NPU "
        "TASK_QUEUE_ENABLE=2 and bound cores (CPU_AFFINITY_CONF=1).",
        "让每次下发的工作更多：更大 batch、融合优化器、torch.compile；NPU 上设置 TASK_QUEUE_ENABLE=2 并绑核"
        "（CPU_AFFINITY_CONF=1）。",
    ),
    "start": (
        "See in the timeline which stream the kernel waits for; fewer streams and events between them.",
        "请在时间线中查看该计算核在等待哪个流；减少流以及流之间的事件。",
    ),
    "unexplained": (
        "Record host and device together: activities CPU and NPU (or CUDA).",
        "请同时采集主机与设备：activities 为 CPU 与 NPU（或 CUDA）。",
    ),
}
_SAID = (
    "the device is idle for {share} % of the step, waiting for data included; the largest cause, {cause_share} % of "
    "that: {cause}; at most {gain_ms} ms can be saved there",
    "设备在每步中有 {share} % 的时间空闲（含等待数据）；最主要的原因（占 {cause_share} %）：{cause}；"
    "最多可省 {gain_ms} ms",
)

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"profiling.idle.{name}": Words(en, zh) for name, (en, zh) in _IDLE.items()},
    **{f"profiling.idle_means.{name}": Words(en, zh) for name, (en, zh) in _MEANS.items()},
    **{f"profiling.launch.{name}": Words(en, zh) for name, (en, zh) in _LAUNCH.items()},
    **{f"profiling.unit.{name}": Words(en, zh) for name, (en, zh) in _UNITS.items()},
    **_FINDINGS,
    **{f"PRF321.{name}": Words(*_SAID, *hints) for name, hints in _HINTS.items()},
}
