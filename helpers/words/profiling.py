"""Words of the profiling part."""

from helpers.words import Words

_HEADINGS = {
    "ranks": ("Ranks", "各 rank"),
    "analyse": ("Where the time goes", "时间花在哪里"),
    "profile": ("What was recorded", "采集到的数据"),
    "time_by_kind": ("Time by kind", "按类别的耗时"),
    "top_operators": ("Costliest operators", "最耗时的算子"),
    "step_times": ("Steps", "各步耗时"),
    "profiling_time": ("Time a step", "每步耗时"),
    "calls_per_step": ("Calls a step", "每步调用次数"),
    "self_time": ("Self time a step", "每步自身耗时"),
    "step_time": ("Step time", "步耗时"),
    "profiling_computing": ("Computing", "计算"),
    "profiling_communication": ("Exposed communication", "未掩盖通信"),
    "profiling_copy": ("Exposed copies", "未掩盖拷贝"),
    "profiling_loading": ("Data loading", "数据加载"),
    "profiling_free": ("Free", "空闲"),
    "profiling_data": ("Data", "数据"),
}

_KINDS = {
    "profiling.at_once": ("{operator}, several at once", "{operator}，多个同时进行"),
    "profiling.all_steps": ("all {steps}", "全部 {steps} 步"),
    "profiling.steps_of": ("{first}-{last} of {steps}", "{steps} 步中的 {first}-{last}"),
    "profiling.part.computing_device": ("computing on the device", "设备计算"),
    "profiling.part.computing_host": ("operators on the host", "主机上的算子"),
    "profiling.part.communication": ("exposed communication", "未掩盖的通信"),
    "profiling.part.copy": ("exposed copies", "未掩盖的拷贝"),
    "profiling.part.loading": ("waiting for data", "等待数据"),
    "profiling.part.computing_simulated": ("simulated kernels, on the CPU", "模拟计算核（在 CPU 上）"),
    "profiling.part.free_simulated": ("between simulated kernels (host)", "模拟计算核之间（主机）"),
    "profiling.part.free_device": ("idle device", "设备空闲"),
    "profiling.part.free_host": ("between operators (Python)", "算子之间（Python）"),
    "profiling.kind.compute": ("kernel", "计算核"),
    "profiling.kind.communication": ("collective", "集合通信"),
    "profiling.kind.copy": ("copy", "拷贝"),
    "profiling.kind.host_op": ("host operator", "主机算子"),
}

_KINDS |= {
    "profiling.data.steps": ("marked steps", "步标记"),
    "profiling.data.host": ("host operators", "主机算子"),
    "profiling.data.kernels": ("device kernels", "设备计算核"),
    "profiling.data.collectives": ("collectives", "集合通信"),
    "profiling.data.loading": ("data loading", "数据加载"),
    "profiling.data.shapes": ("operators with input shapes", "带输入形状的算子"),
    "profiling.data.memory": ("memory records", "内存记录"),
}

_ERRORS = {
    "profiling.too_few": Words(
        "{name} is {value}; it must be at least {least}", "{name} 为 {value}，至少应为 {least}",
        "Give {least} or more, or leave it out for the default.", "请给出 {least} 或更大的值，或省略以使用默认值。",
    ),
    "profiling.not_ours": Words(
        "{path}: is not empty and holds no {record}, so it was not written by profile and is not cleared",
        "{path}：目录非空且没有 {record}，不是 profile 写出的，因此不会清空",
        "Give another folder for the profile.",
        "请换一个目录存放性能数据。",
    ),
    "profiling.no_such_path": Words(
        "{path}: there is no such file or folder",
        "{path}：文件或目录不存在",
        "Give a trace file, an *_ascend_pt folder, or the folder that `ascend-workbook profile` wrote.",
        "请给出 trace 文件、*_ascend_pt 目录，或 `ascend-workbook profile` 写出的目录。",
    ),
    "profiling.steps_not_told_apart": Words(
        "{path}: steps {steps} cannot be looked at alone: a step around them has no usable mark of its own",
        "{path}：无法单独查看第 {steps} 步：其边界处的步没有可用的唯一标记",
        "Look at all steps: `--steps all`.",
        "请查看全部步：`--steps all`。",
    ),
    "profiling.no_such_steps": Words(
        "{path}: --steps {steps} is no span of its steps, which are {here}",
        "{path}：--steps {steps} 不是其中连续的若干步，所记录的是 {here} 步",
        "Give numbers that follow one another, such as {here}.",
        "请给出连续的步号，例如 {here}。",
    ),
    "profiling.no_such_steps_of_both": Words(
        "{path}: --steps {steps} is no span of its steps, which are {here}; with a baseline both sides are looked at "
        "in the same steps",
        "{path}：--steps {steps} 不是其中连续的若干步，所记录的是 {here} 步；与基线对比时两侧看相同的步",
        "Give steps that both sides have, or `--steps all` or `--steps auto`, which may be others on each side.",
        "请给出两侧都有的步，或用 `--steps all`、`--steps auto`：此时两侧的步可以不同。",
    ),
    "profiling.no_profile": Words(
        "{path}: holds neither an *_ascend_pt folder nor a *trace*.json(.gz) file",
        "{path}：其中既没有 *_ascend_pt 目录，也没有 *trace*.json(.gz) 文件",
        "Record one with `ascend-workbook profile SCRIPT`, or give the path of the trace itself.",
        "请用 `ascend-workbook profile 脚本` 采集，或直接给出 trace 的路径。",
    ),
    "profiling.a_script": Words(
        "{path}: is a script and no profile",
        "{path}：这是脚本，不是性能数据",
        "Record one first: `ascend-workbook profile {quoted}`, then analyse what it wrote.",
        "请先采集：`ascend-workbook profile {quoted}`，再分析其输出。",
    ),
    "profiling.many_profiles": Words(
        "{path}: holds {count} profiles ({names}); one at a time",
        "{path}：其中有 {count} 份性能数据（{names}）；一次只能分析一份",
        "Give the path of the one to look at, such as one rank's.",
        "请给出其中一份的路径，例如某一个 rank 的。",
    ),
    "profiling.unreadable": Words(
        "{path}: cannot be read: {error}",
        "{path}：无法读取：{error}",
        "Check that the file was copied whole.",
        "请检查文件是否完整复制。",
    ),
    "profiling.not_utf8": Words(
        "{path}: byte {byte} is not UTF-8 text",
        "{path}：第 {byte} 字节不是 UTF-8 文本",
        "A trace is JSON text; this file is something else or was damaged. Copy it again.",
        "trace 应为 JSON 文本；该文件不是 trace 或已损坏，请重新复制。",
    ),
    "profiling.cut_short": Words(
        "{path}: the JSON is cut short at byte {byte} (line {line}, column {column}): {error}",
        "{path}：JSON 在第 {byte} 字节（第 {line} 行第 {column} 列）处被截断：{error}",
        "The profiler was stopped while writing, or the copy is not complete. Record or copy it again.",
        "采集在写文件时被中断，或复制不完整。请重新采集或复制。",
    ),
    "profiling.broken_json": Words(
        "{path}: broken JSON at byte {byte} (line {line}, column {column}): {error}",
        "{path}：第 {byte} 字节（第 {line} 行第 {column} 列）处 JSON 有误：{error}",
        "Record the profile again; if it stays, report it to who wrote the profiler.",
        "请重新采集；若仍出现，请向该 profiler 的维护者反馈。",
    ),
    "profiling.too_long": Words(
        "{path}: from byte {byte} on one value is longer than {limit} bytes",
        "{path}：从第 {byte} 字节起，单个值超过 {limit} 字节",
        "No event is that long: the file is damaged, or is no trace. Copy or record it again.",
        "事件不会如此之长：文件已损坏，或不是 trace。请重新复制或采集。",
    ),
    "profiling.bad_base": Words(
        "{path}: baseTimeNanoseconds is {value}, which is no time since 1970 in nanoseconds",
        "{path}：baseTimeNanoseconds 为 {value}，不是自 1970 年起的纳秒数",
        "Record the profile again.",
        "请重新采集。",
    ),
    "profiling.not_a_trace": Words(
        "{path}: is JSON but no trace: expected a list of events or an object with traceEvents, found {found}",
        "{path}：是 JSON 但不是 trace：应为事件列表或含 traceEvents 的对象，实际为 {found}",
        "Give the trace that torch.profiler or torch_npu.profiler wrote.",
        "请给出 torch.profiler 或 torch_npu.profiler 写出的 trace。",
    ),
    "profiling.no_events": Words(
        "{path}: holds no usable event",
        "{path}：没有可用的事件",
        "The profiler recorded nothing: check its schedule, skip_first + (wait + warmup + active) * repeat steps.",
        "profiler 没有采集到数据：请检查其 schedule，需要 skip_first + (wait + warmup + active) * repeat 步。",
    ),
    "profiling.no_steps": Words(
        "{path}: no step has any time in it",
        "{path}：没有任何一步包含时间",
        "Record at least one whole step.",
        "请至少采集完整的一步。",
    ),
    "profiling.too_far_behind": Words(
        "{path}: the device is so many steps behind the host that none of what these steps launched was read",
        "{path}：设备落后主机太多步，所看各步下发的工作一个也没有读到",
        "Look at all steps, `--steps all`, or record fewer with a synchronisation in between.",
        "请查看全部步：`--steps all`；或少采集几步，并在其间同步一次。",
    ),
    "profiling.steps_without_marks": Words(
        "{path}: --steps {steps}: its steps are not marked, so none can be looked at alone",
        "{path}：--steps {steps}：没有步标记，无法单独查看其中某一步",
        "Look at all of it, `--steps all`; call profiler.step() at the end of each step when recording.",
        "请查看全部：`--steps all`；采集时请在每步末尾调用 profiler.step()。",
    ),
    "profiling.not_parsed": Words(
        "{path}: none of {wanted} is in it",
        "{path}：其中没有 {wanted}",
        "The raw data were not parsed. Run torch_npu.profiler.profiler.analyse(path) where torch_npu is installed.",
        "原始数据尚未解析。请在安装了 torch_npu 的机器上运行 torch_npu.profiler.profiler.analyse(路径)。",
    ),
    "profiling.no_column": Words(
        "{path}: the columns {columns} are missing",
        "{path}：缺少列 {columns}",
        "Written by a version not known here; please report its first line.",
        "由尚不支持的版本写出；请反馈其首行。",
    ),
    "profiling.bad_rows": Words(
        "{path}: none of the rows can be used: {rows} have another number of cells than the heading, the first in line "
        "{line}",
        "{path}：没有可用的行：{rows} 行的单元格数与表头不符，首个在第 {line} 行",
        "Copy or record the file again.",
        "请重新复制或采集该文件。",
    ),
    "profiling.bad_cell": Words(
        "{path}: line {line}, column {column}: {value} is not a number",
        "{path}：第 {line} 行 {column} 列：{value} 不是数值",
        "Copy or record the file again.",
        "请重新复制或采集该文件。",
    ),
}

_COLLECT = {
    "PRF300.came": Words("{steps} of {wanted} steps were recorded: {came}", "已采集 {steps}/{wanted} 步：{came}"),
    "PRF300.partly": Words(
        "{steps} of {wanted} steps were recorded: {came}; absent: {absent}",
        "已采集 {steps}/{wanted} 步：{came}；缺少：{absent}",
    ),
    "PRF300.script": Words(
        "the script failed after {done} steps: {trouble}",
        "脚本在第 {done} 步后失败：{trouble}",
        "Make it run first: `ascend-workbook dry-run` shows where it stops. Where `ascend-workbook scan` lists places "
        "to rewrite, profile the script that `ascend-workbook rewrite` writes.",
        "请先让脚本跑通：`ascend-workbook dry-run` 会指出停在哪里。若 `ascend-workbook scan` 列出需改写之处，"
        "请采集 `ascend-workbook rewrite` 写出的脚本。",
    ),
    "PRF300.nothing": Words(
        "the script ran {done} steps but the profiler left no data: {why}",
        "脚本运行了 {done} 步，但 profiler 没有留下数据：{why}",
        "The profiler hides its errors: look into output.log and the logs folder of the profile.",
        "profiler 会隐藏错误：请查看 output.log 以及数据目录下的 logs。",
    ),
    "PRF300.absent.steps": Words(
        "the script ended after {done} of {wanted} steps, warm-up included: the profile is not whole",
        "脚本在 {done}/{wanted} 步（含预热）后结束：数据不完整",
        "Ask for fewer steps, or let the script train longer.",
        "请减少采集步数，或让脚本训练更久。",
    ),
    "PRF300.absent.host": Words("no host operator was recorded", "没有采集到主机算子"),
    "PRF300.absent.kernels": Words("no device kernel was recorded", "没有采集到设备计算核"),
    "PRF300.absent.collectives": Words(
        "no collective was recorded though several processes ran", "多进程运行，但没有采集到集合通信"
    ),
    "PRF300.absent.loading": Words("no DataLoader was recorded", "没有采集到 DataLoader"),
    "PRF300.absent.shapes": Words("no input shapes were recorded", "没有采集到输入形状"),
    "PRF300.absent.memory": Words("no memory records were made", "没有采集到内存记录"),
}

_DATA = {
    "PRF301.there": Words(
        "device times are there: {kernels} kernels", "有设备侧耗时：{kernels} 个计算核"
    ),
    "PRF301.cpu": Words(
        "ran on the CPU: the times of {operators} operators are the CPU's",
        "在 CPU 上运行：{operators} 个算子的耗时即 CPU 耗时",
    ),
    "PRF301.simulated": Words(
        "no times of an NPU: the {kernels} kernels of the simulated NPU ran on the CPU, and their times are the CPU's",
        "没有 NPU 的耗时：模拟 NPU 的 {kernels} 个计算核在 CPU 上运行，耗时是 CPU 的",
        "Profile again on a real NPU before changing anything for speed.",
        "在为速度做任何修改之前，请在真实 NPU 上重新采集。",
    ),
    "PRF301.simulated_host": Words(
        "no device times: no simulated kernel was recorded; the times of the {operators} operators are the CPU's",
        "没有设备侧耗时：没有采集到模拟 NPU 的计算核；{operators} 个算子的耗时是 CPU 的",
        "Profile again on a real NPU before changing anything for speed.",
        "在为速度做任何修改之前，请在真实 NPU 上重新采集。",
    ),
    "PRF301.absent": Words(
        "no device times were recorded, only {operators} operators on the host",
        "没有采集到设备侧耗时，只有主机侧的 {operators} 个算子",
        "Record with both activities, CPU and NPU (or CUDA), and look into the profiler's log: it hides its errors.",
        "请同时采集 CPU 与 NPU（或 CUDA），并查看 profiler 日志：它会隐藏错误。",
    ),
    "PRF302.unmarked": Words(
        "the profile has no step marks: one step stands for the whole of it",
        "没有步标记：整段数据视为一步",
        "Call profiler.step() at the end of each step, or record with `ascend-workbook profile`.",
        "请在每步末尾调用 profiler.step()，或用 `ascend-workbook profile` 采集。",
    ),
    "PRF302.few": Words(
        "too few steps were recorded to tell warm-up apart: {steps}",
        "采集的步太少（{steps} 步）：无法区分预热",
        "Record three steps or more.",
        "请采集三步以上。",
    ),
    "PRF302.first": Words(
        "{steps} steps; the first ({first_ms} ms) counts as warm-up, the mean of the others is {step_ms} ms",
        "共 {steps} 步；第一步（{first_ms} ms）视为预热，其余平均为 {step_ms} ms",
    ),
    "PRF302.some": Words(
        "looked at steps {first} to {last} of {steps}: their mean is {step_ms} ms, that of all but the first on the "
        "host {mean_ms} ms; the slowest of the others is step {slowest} with {slowest_ms} ms",
        "所看的是 {steps} 步中的第 {first} 至 {last} 步：平均 {step_ms} ms，主机侧除第一步外全部平均为 {mean_ms} ms；"
        "其余各步中最慢的是第 {slowest} 步，{slowest_ms} ms",
        "`--steps {slowest}` looks at that one, `--steps all` at all; memory then grows with the file (some 110 MiB a "
        "million events).",
        "`--steps {slowest}` 看那一步，`--steps all` 看全部步；内存随文件增大（每百万事件约 110 MiB）。",
    ),
    "PRF302.warming": Words(
        "looked at steps {first} to {last} of {steps}; step {first} is the file's first ({first_ms} ms) and counts as "
        "warm-up: the mean of steps {steady} to {last} is {step_ms} ms, that of all but the first on the host "
        "{mean_ms} ms",
        "所看的是 {steps} 步中的第 {first} 至 {last} 步；第 {first} 步是文件中的第一步（{first_ms} ms），视为预热："
        "第 {steady} 至 {last} 步平均 {step_ms} ms，主机侧除第一步外全部平均为 {mean_ms} ms",
        "Steps from the middle are steadier: `--steps auto` chooses some of a large trace.",
        "中间的步更平稳：对大文件，`--steps auto` 会从中选取。",
    ),
    "PRF302.cold": Words(
        "looked at steps {first} to {last} of {steps}, the file's first among them: too few to leave it out as warm-up,"
        " so the mean of {step_ms} ms holds its {first_ms} ms; that of all but the first on the host is {mean_ms} ms",
        "所看的是 {steps} 步中的第 {first} 至 {last} 步，其中有文件的第一步：步数太少，无法把它作为预热除外，"
        "平均 {step_ms} ms 含其 {first_ms} ms；主机侧除第一步外全部平均为 {mean_ms} ms",
        "Choose steps behind the first: `--steps auto` does in a large trace.",
        "请选取第一步之后的步：对大文件可用 `--steps auto`。",
    ),
    "PRF302.behind": Words(
        "the device is far behind the host, further than was read around these steps: kernels of other steps may count "
        "in steps {first} to {last}, and theirs be left out",
        "设备远远落后于主机，超出所读范围：其他步的计算核可能计入第 {first} 至 {last} 步，而这些步自己的可能被漏掉",
        "Look at all steps: `--steps all`.",
        "请查看全部步：`--steps all`。",
    ),
    "PRF302.no_marks": Words(
        "all {mib} MiB were read, which takes some {memory_mib} MiB of memory: the file marks no steps by which to "
        "choose some",
        "读取了整个文件（{mib} MiB，约需 {memory_mib} MiB 内存）：文件中没有步标记，无法只选取若干步",
        "Call profiler.step() at the end of each step when recording.",
        "采集时请在每步末尾调用 profiler.step()。",
    ),
    "PRF302.unclear_marks": Words(
        "all {mib} MiB were read, which takes some {memory_mib} MiB of memory: some of its steps are not marked by "
        "events of their own (as a beginning and an end, or in the midst of a very long event), so none can be chosen",
        "读取了整个文件（{mib} MiB，约需 {memory_mib} MiB 内存）：部分步标记不是独立的事件（分为开始与结束两条，"
        "或处于过长的事件之中），无法只选取若干步",
        "Record fewer steps where memory is short.",
        "内存不足时请少采集几步。",
    ),
    "PRF302.same_numbers": Words(
        "all {mib} MiB were read, which takes some {memory_mib} MiB of memory: several of its steps have one number, "
        "so none can be chosen",
        "读取了整个文件（{mib} MiB，约需 {memory_mib} MiB 内存）：有几步编号相同，无法只选取若干步",
        "Record with one profiler, so that each step has a number of its own.",
        "请只用一个 profiler 采集，使每步编号唯一。",
    ),
    "PRF302.few_steps": Words(
        "all {mib} MiB were read, which takes some {memory_mib} MiB of memory: the steps are so few and large that "
        "choosing some would save little",
        "读取了整个文件（{mib} MiB，约需 {memory_mib} MiB 内存）：步数少而每步很大，只选取若干步节省不了多少",
        "`--steps A-B` looks at some all the same.",
        "仍可用 `--steps A-B` 只看其中若干步。",
    ),
    "PRF302.others": Words(
        "the other ranks were looked at in steps {asked}, which this one does not have: it has {here}, and the steps "
        "looked at are its own choice",
        "其他 rank 所看的是第 {asked} 步，而该 rank 没有这些步：它有 {here} 步，所看的步由其自身选定",
        "Record the same steps on all ranks, or give steps that all have: `--steps A-B`.",
        "请在所有 rank 上采集相同的步，或用 `--steps A-B` 给出各 rank 都有的步。",
    ),
    "PRF302.others_unmarked": Words(
        "the other ranks were looked at in steps {asked}; this one marks no steps and was looked at whole",
        "其他 rank 所看的是第 {asked} 步，而该 rank 没有步标记，因此看的是全部",
        "Call profiler.step() at the end of each step on all ranks.",
        "请在所有 rank 上于每步末尾调用 profiler.step()。",
    ),
    "PRF303.few": Words(
        "spread of the steps not looked at: too few of them, {steps}",
        "未检查各步差异：{steps} 步太少",
    ),
    "PRF303.alike": Words(
        "the steps are alike: the slowest takes {slowest_ms} ms, the median {step_ms} ms",
        "各步接近：最慢 {slowest_ms} ms，中位数 {step_ms} ms",
    ),
    "PRF303.apart": Words(
        "{slow} of {steps} steps are slow, the slowest (step {step}) takes {slowest_ms} ms: the median is "
        "{step_ms} ms, the mean, by which all is told, {mean_ms} ms",
        "{steps} 步中有 {slow} 步较慢，最慢的第 {step} 步为 {slowest_ms} ms：中位数为 {step_ms} ms，"
        "而各项所依据的平均值为 {mean_ms} ms",
        "Look at what that step does besides training: logging, checkpoints, evaluation, first use of a shape.",
        "请看该步除训练外还做了什么：日志、检查点、评估、首次出现的形状。",
    ),
    "profiling.device_share": Words("device {device} {share} %", "设备 {device} 为 {share} %"),
    "PRF308.several": Words(
        "kernels of {count} devices are in one trace: computing ({together} % of the step) is when at least one of "
        "them computes, idle when none does; each by itself computes: {devices}",
        "同一份数据中有 {count} 个设备的计算核：“计算”（占每步的 {together} %）指至少一个设备在计算，“空闲”指全部空闲；"
        "各设备自身的计算占比：{devices}",
        "One process for each device (DistributedDataParallel in place of DataParallel) gives a profile of each.",
        "每个设备使用一个进程（以 DistributedDataParallel 代替 DataParallel），即可得到各设备的数据。",
    ),
    "PRF304.all": Words("all {events} events could be used", "{events} 个事件全部可用"),
    "PRF304.cut_short": Words(
        "{path}: the file is cut short at byte {byte}; only the {events} usable events before it were read",
        "{path}：文件在第 {byte} 字节处被截断；只读取了其前的 {events} 个可用事件",
        "The profiler was stopped while writing, or the copy is not complete: steps are missing. Record or copy it "
        "again.",
        "采集在写文件时被中断，或复制不完整：缺少若干步。请重新采集或复制。",
    ),
    "PRF304.slower": Words(
        "the trace was read by the reader in Python, several times slower and with the same result: {reason}",
        "数据由 Python 读取器读取，速度慢数倍，结果相同：{reason}",
        "Large traces gain by the fast reader: it compiles itself where g++ or clang++ is installed.",
        "大文件建议使用快速读取器：安装 g++ 或 clang++ 后会自动编译。",
    ),
    "PRF304.unpaired": Words(
        "{count} beginnings or ends of events lack the other and were left out, beside {events} events",
        "{count} 个事件的开始或结束缺少另一半，已略去（另有 {events} 个事件）",
    ),
    "PRF304.no_time": Words(
        "{count} events without a usable time were left out "
        "of {events}", "{count} 个事件没有可用时间，已略去（共 {events} 个）"
    ),
    "PRF304.negative_duration": Words(
        "{count} events with a negative duration were left out of {events}",
        "{count} 个事件时长为负，已略去（共 {events} 个）",
        "The clock went backwards while recording; times around it may be wrong.",
        "采集时时钟回退；其附近的时间可能不准。",
    ),
    "PRF304.backwards": Words(
        "step {step} begins after a step with a higher number: the host's clock went backwards",
        "第 {step} 步开始于编号更大的一步之后：主机时钟发生回退",
        "What lies between the two is not to be trusted. Stop the clock's adjustment (NTP steps it) and record again.",
        "两步之间的时间不可信。请停止时钟校准（NTP 会使其跳变）后重新采集。",
    ),
    "PRF304.time_out_of_range": Words(
        "{count} events with an impossible time were left "
        "out of {events}", "{count} 个事件时间不合理，已略去（共 {events} 个）"
    ),
    "PRF304.unknown_task_type": Words(
        "{count} device events do not say what they are, so they count neither as computing nor as copies",
        "{count} 个设备事件未标明类型，既不算计算也不算拷贝",
        "Record at Level1 with a newer CANN.",
        "请使用较新的 CANN，以 Level1 采集。",
    ),
    "PRF306.same": Words(
        "the profiler's own table says the same of {steps} steps", "profiler 自己的统计表对 {steps} 步给出相同结果"
    ),
    "PRF306.apart": Words(
        "the profiler's own table disagrees on {steps} of {of} steps, most on step {step}: by {apart_ms} ms computing",
        "profiler 自己的统计表在 {of} 步中有 {steps} 步不一致，差别最大的是第 {step} 步：计算相差 {apart_ms} ms",
        "The timeline may be cut, or holds tasks not known here. Record again; trust neither until they agree.",
        "时间线可能被截断，或含有尚不认识的任务。请重新采集；一致之前两者都不可信。",
    ),
    "PRF305.there": Words("input shapes were recorded", "已记录输入形状"),
    "PRF305.absent": Words(
        "input shapes were not recorded", "没有记录输入形状", "Record "
        "with record_shapes=True.", "请以 record_shapes=True 采集。"
    ),
}

_TIME = {
    "PRF310.saving": Words(
        "most of the step is {kind}: {share} % of {step_ms} ms; "
        "the costliest operator is {operator} ({operator_share} %); "
        "the most that one change can save: {cause}, at most {gain_ms} ms ({gain_share} %)",
        "每步耗时 {step_ms} ms，其中最多的是{kind}（{share} %）；最耗时的算子是 {operator}（{operator_share} %）；"
        "单项改动最多可省：{cause}，不超过 {gain_ms} ms（{gain_share} %）",
    ),
    "PRF310.simulated_saving": Words(
        "by the CPU's times, which are not an NPU's, most of the step is {kind}: {share} % of {step_ms} ms; the "
        "costliest operator is {operator} ({operator_share} %); the most that one change can save here: {cause}, at "
        "most {gain_ms} ms ({gain_share} %)",
        "按 CPU 的耗时（并非 NPU 的耗时），每步 {step_ms} ms，其中最多的是{kind}（{share} %）；最耗时的算子是 "
        "{operator}（{operator_share} %）；此处单项改动最多可省：{cause}，不超过 {gain_ms} ms（{gain_share} %）",
    ),
    "PRF310.simulated_none": Words(
        "by the CPU's times, which are not an NPU's, most of the step is {kind}: {share} % of {step_ms} ms; the "
        "costliest operator is {operator} ({operator_share} %)",
        "按 CPU 的耗时（并非 NPU 的耗时），每步 {step_ms} ms，其中最多的是{kind}（{share} %）；最耗时的算子是 "
        "{operator}（{operator_share} %）",
    ),
    "PRF310.blind": Words(
        "cannot say where the time goes: the profile has no device times, and host operators only hand out work",
        "无法判断时间花在哪里：没有设备侧耗时，而主机算子只负责下发",
        "Record again with both activities, CPU and NPU (or CUDA), and read the profiler's log.",
        "请同时采集 CPU 与 NPU（或 CUDA）后重试，并查看 profiler 日志。",
    ),
    "PRF310.cut": Words(
        "the file was cut short after {bytes} bytes; of what it holds: {what}",
        "文件在第 {bytes} 字节处被截断；就其中的内容而言：{what}",
        "Copy or record it again: what is missing may be the costly part.",
        "请重新复制或采集：缺少的可能正是最耗时的部分。",
    ),
    "PRF310.ranks": Words(
        "{read} of {ranks} ranks were read; rank {most} computes most, {most_ms} ms a step, and rank {least} least, "
        "{least_ms} ms",
        "已读取 {read}/{ranks} 个 rank；每步计算最多的是 rank {most}（{most_ms} ms），"
        "最少的是 rank {least}（{least_ms} ms）",
    ),
    "PRF310.unread": Words(
        "rank {rank} could not be read: {error}",
        "rank {rank} 无法读取：{error}",
        "The other ranks were looked at; copy or record this one again.",
        "其余 rank 已分析；请重新复制或采集该 rank。",
    ),
    "PRF310.none": Words(
        "most of the step is {kind}: {share} % of {step_ms} ms; "
        "the costliest operator is {operator} ({operator_share} %)",
        "每步耗时 {step_ms} ms，其中最多的是{kind}（{share} %）；最耗时的算子是 {operator}（{operator_share} %）",
    ),
    "PRF311.blind": Words("free time not looked at: there are no device times", "未检查空闲：没有设备侧耗时"),
    "PRF311.cause": Words("free time", "空闲时间"),
    "PRF311.busy": Words("little free time: {share} % of the step", "空闲很少：占每步的 {share} %"),
    "PRF311.device": Words(
        "the device is idle for {share} % of the step, without waiting for data; keeping it busy saves at most "
        "{gain_ms} ms",
        "设备在每步中有 {share} % 的时间空闲（不含等待数据）；让其保持忙碌最多可省 {gain_ms} ms",
        "The host launches too slowly: fewer and larger operators (fused optimizer, larger batch), "
        "no Python work inside the step; on an NPU TASK_QUEUE_ENABLE=2.",
        "主机下发太慢：使用更少更大的算子（融合优化器、更大 batch），步内减少 Python 工作；"
        "NPU 上设置 TASK_QUEUE_ENABLE=2。",
    ),
    "PRF311.simulated": Words(
        "{share} % of the step lies between simulated kernels, on the host (Python, dispatch, the simulator itself), "
        "at most {gain_ms} ms; what it would be on an NPU is not known",
        "每步有 {share} % 的时间在模拟计算核之间，即主机侧（Python、算子分发、模拟器本身），最多 {gain_ms} ms；"
        "在 NPU 上会是多少并不知道",
        "Move logging, list handling and conversions out of the training loop; then profile on a real NPU.",
        "把日志、列表处理、类型转换等移出训练循环；然后在真实 NPU 上采集。",
    ),
    "PRF311.host": Words(
        "{share} % of the step lies between operators, in Python; at most {gain_ms} ms can be saved there",
        "每步有 {share} % 的时间在算子之间（Python 中）；最多可省 {gain_ms} ms",
        "Move work out of the training loop: logging, list handling, conversions.",
        "把日志、列表处理、类型转换等移出训练循环。",
    ),
    "PRF312.cause": Words("exposed communication", "未掩盖的通信"),
    "PRF312.cause_waiting": Words("waiting for another rank ({waited})", "等待其他 rank（{waited}）"),
    "PRF312.cause_pairwise": Words(
        "what two ranks send each other (pipeline stages, all-to-all)",
        "两个 rank 间的收发（流水级之间，或 all-to-all）",
    ),
    "PRF312.waiting": Words(
        "{share} % of the step is waiting in collectives for another rank, mostly {waited}: no transmission; where "
        "that one comes in time this saves at most {gain_ms} ms ({whole} % of the step is exposed communication)",
        "每步有 {share} % 的时间在集合通信中等待其他 rank（主要是{waited}），并非传输；若其不迟到，最多可省 "
        "{gain_ms} ms（未掩盖的通信占每步的 {whole} %）",
        "Analyse the folder of all ranks together: it tells which rank is slow and in what.",
        "请将所有 rank 的文件夹一起分析：可得知哪个 rank 慢、慢在何处。",
    ),
    "PRF312.pairwise": Words(
        "{share} % of the step goes to what two ranks send each other (pipeline stages, all-to-all), with the waiting "
        "for each other, and nothing hides it; at most {gain_ms} ms ({whole} % of the step is exposed communication)",
        "每步有 {share} % 的时间用于两个 rank 间的收发（流水级之间，或 all-to-all，含相互等待），且未被掩盖；最多可省 "
        "{gain_ms} ms（未掩盖的通信占每步的 {whole} %）",
        "In a pipeline: balance the stages, more micro-batches, an interleaved schedule. Analyse the folder of all "
        "ranks together: it tells which stage the others wait for.",
        "流水并行：均衡各级、增加 micro-batch、使用交错调度。请将所有 rank 的文件夹一起分析：可得知其余级在等哪一级。",
    ),
    "PRF312.simulated": Words(
        "collectives not judged ({share} % of the step): on the simulated NPU they run between processes of one host, "
        "and nothing overlaps them",
        "未评判集合通信（占每步的 {share} %）：模拟 NPU 上它们在同一主机的进程间进行，不与任何计算重叠",
    ),
    "PRF312.none": Words("no communication was recorded", "没有采集到通信"),
    "PRF312.hidden": Words(
        "communication is hidden behind computing: {share} "
        "% of the step is exposed", "通信被计算掩盖：仅 {share} % 未掩盖"
    ),
    "PRF312.exposed": Words(
        "{share} % of the step waits for collectives that nothing hides; overlapping them saves at most {gain_ms} ms",
        "每步有 {share} % 的时间在等待未被掩盖的集合通信；使其重叠最多可省 {gain_ms} ms",
        "See whether ranks wait for a slow one first; then DDP bucket size, gradient accumulation, overlap.",
        "先看是否有 rank 在等待较慢的 rank；再考虑 DDP 桶大小、梯度累积与通信重叠。",
    ),
    "PRF313.cause": Words("data loading", "数据加载"),
    "PRF313.blind": Words("data loading not looked at: there are no device times", "未检查数据加载：没有设备侧耗时"),
    "PRF313.unseen": Words(
        "data loading not looked at: no DataLoader was recorded", "未检查数据加载：没有采集到 DataLoader"
    ),
    "PRF313.hidden": Words(
        "data loading is hidden: the step waits {share} % of its time for it", "数据加载被掩盖：每步仅等待 {share} %"
    ),
    "PRF313.waits": Words(
        "{share} % of the step waits for data; loading ahead saves at most {gain_ms} ms",
        "每步有 {share} % 的时间在等待数据；提前加载最多可省 {gain_ms} ms",
        "DataLoader(num_workers=4, persistent_workers=True, pin_memory=True), or cheaper transforms.",
        "使用 DataLoader(num_workers=4, persistent_workers=True, pin_memory=True)，或更轻的数据变换。",
    ),
    "PRF313.host": Words(
        "{share} % of the step waits for data, at most {gain_ms} ms: the host's own time here; on an NPU, whose step "
        "is shorter, the wait is not smaller",
        "每步有 {share} % 的时间在等待数据，最多 {gain_ms} ms：这是主机自身的时间；NPU 上每步更短，等待不会更少",
        "DataLoader(num_workers=4, persistent_workers=True, pin_memory=True), or cheaper transforms.",
        "使用 DataLoader(num_workers=4, persistent_workers=True, pin_memory=True)，或更轻的数据变换。",
    ),
    "PRF314.read": Words(
        "{calls} values a step are read from tensors, in {where}: on an NPU each read waits for the device; cost "
        "unknown here",
        "每步从张量读取 {calls} 个值，位置 {where}：NPU 上每次读取都会等待设备；此处代价未知",
        "Read losses every so many steps only: total += loss.detach(), and total.item() seldom.",
        "隔若干步再读取损失：total += loss.detach()，少用 total.item()。",
    ),
    "PRF314.read_somewhere": Words(
        "{calls} values a step are read from tensors (.item(), float(), if tensor:), the lines were not recorded: on "
        "an NPU each read waits for the device; cost unknown here",
        "每步从张量读取 {calls} 个值（.item()、float()、if tensor:），未记录所在行：NPU 上每次读取都会等待设备；"
        "此处代价未知",
        "Record with `ascend-workbook profile --stack` to see the lines; read losses every so many steps only.",
        "请用 `ascend-workbook profile --stack` 采集以得知所在行；隔若干步再读取损失。",
    ),
    "PRF314.cpu": Words("a CPU waits for no device", "CPU 无需等待设备"),
    "PRF314.no_device": Words(
        "synchronisation not looked at: without times of a real device nothing tells what waiting costs",
        "未检查同步：没有真实设备的耗时就无法判断等待的代价",
    ),
    "PRF314.no_host": Words(
        "synchronisation not looked at: the profile has no host events", "未检查同步：没有主机侧事件"
    ),
    "PRF314.harmless": Words(
        "waiting for the device costs little: it then runs dry for {share} % of the step",
        "等待设备的代价很小：由此造成的空闲占每步 {share} %",
    ),
    "PRF314.dry": Words(
        "the device runs dry while the host waits for it ({share} "
        "% of the step); not waiting saves at most {gain_ms} ms",
        "主机等待设备时设备空转（占每步 {share} %）；避免等待最多可省 {gain_ms} ms",
        "Read losses every so many steps only; drop torch.cuda/npu.synchronize() from the loop.",
        "隔若干步再读取损失；循环中去掉 torch.cuda/npu.synchronize()。",
    ),
    "PRF315.cpu": Words("a CPU copies to no device", "CPU 无需向设备拷贝"),
    "PRF315.cause": Words("copies between host and device", "主机与设备间的拷贝"),
    "PRF315.no_device": Words(
        "copies not looked at: there are no times of a real device", "未检查拷贝：没有真实设备的耗时"
    ),
    "PRF315.hidden": Words(
        "copies are hidden: {share} % of the step waits for them", "拷贝被掩盖：每步仅等待 {share} %"
    ),
    "PRF315.exposed": Words(
        "{share} % of the step waits for copies; hiding them saves at most {gain_ms} ms",
        "每步有 {share} % 的时间在等待拷贝；将其掩盖最多可省 {gain_ms} ms",
        "pin_memory=True with non_blocking=True, and keep on the device what the next step uses again.",
        "使用 pin_memory=True 配合 non_blocking=True，并把下一步还要用的数据留在设备上。",
    ),
}

_OPERATORS = {
    "PRF331.no_operators": Words("operators not looked at: none was recorded", "未检查算子：没有采集到算子"),
    "PRF331.blind": Words("operators not looked at: there are no device times", "未检查算子：没有设备侧耗时"),
    "PRF331.simulated": Words(
        "operators not judged: the times are the CPU's, and another one may cost most on an NPU",
        "未评判算子：耗时是 CPU 的，在 NPU 上最耗时的可能是另一个算子",
    ),
    "PRF331.one": Words(
        "of the computing operators {operator} alone takes {share} % of the step; making it free saves at most "
        "{gain_ms} ms",
        "计算算子中仅 {operator} 就占每步的 {share} %；即使完全消除也最多省 {gain_ms} ms",
        "Look at its shapes and dtype: half precision, a fused form, a layout that needs no conversion.",
        "请看其形状与数据类型：半精度、融合实现、无需转换的内存格式。",
    ),
    "PRF331.many": Words(
        "no computing operator dominates (collectives and copies are not among these): the costliest, {operator}, "
        "takes {share} % of the step, {computing_share} % of all operators' computing",
        "没有单个计算算子占主导（不含集合通信与拷贝）：最耗时的 {operator} 占每步的 {share} %，"
        "占全部计算算子耗时的 {computing_share} %",
    ),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{key: Words(en, zh) for key, (en, zh) in _KINDS.items()},
    **_ERRORS,
    **_COLLECT,
    **_DATA,
    **_TIME,
    **_OPERATORS,
}
