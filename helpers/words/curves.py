"""Words of the curves of two runs."""

from helpers.words import Words

_HEADINGS = {
    "curves": ("Loss curves", "损失曲线"),
    "loss_baseline": ("Baseline loss", "基线损失"),
    "loss_target": ("Target loss", "目标损失"),
    "smoothed_error": ("Smoothed relative error", "平滑相对误差"),
    "lr": ("Learning rate", "学习率"),
    "grad_norm_baseline": ("Baseline gradient norm", "基线梯度范数"),
    "grad_norm_target": ("Target gradient norm", "目标梯度范数"),
    "place_baseline": ("Place in the baseline's log", "基线日志中的位置"),
    "place_target": ("Place in the target's log", "目标日志中的位置"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    "ACC250.together": Words(
        "the losses stay together over {steps} steps: at most {worst} apart, allowed {tolerance}",
        "损失在 {steps} 步内保持一致：最大相对差 {worst}，允许 {tolerance}",
    ),
    "ACC250.undecided": Words(
        "whether the losses part cannot be judged below a difference of {smallest} (at a loss of {level}): the logs"
        " print too few digits; over {steps} steps the printed values are at most {worst} apart, allowed {tolerance}",
        "差异小于 {smallest}（损失为 {level} 时）时无法判断损失是否分开：日志打印的位数太少；"
        "{steps} 步内打印值的最大相对差为 {worst}，允许 {tolerance}",
        "Print more digits, compare TensorBoard events or a JSON log, or allow more with --tolerance.",
        "请打印更多位数，改为比较 TensorBoard 事件或 JSON 日志，或用 --tolerance 放宽容差。",
    ),
    "ACC250.at_once": Words(
        "the losses differ before the first update: {baseline} and {target}; largest difference {worst}, allowed"
        " {tolerance} (step {step})",
        "损失在第一次更新之前就不同：{baseline} 与 {target}；最大相对差 {worst}，允许 {tolerance}（第 {step} 步）",
        "See which operator parts first in the comparison by tensor.",
        "请在逐张量比对中查看最先出现差异的算子。",
    ),
    "ACC250.apart": Words(
        "the losses part at step {step}: {baseline} and {target}; largest difference {worst}, allowed {tolerance};"
        " smoothed, at the end: {smoothed}",
        "损失从第 {step} 步开始出现差异：{baseline} 与 {target}；最大相对差 {worst}，允许 {tolerance}；"
        "平滑后，结束时为 {smoothed}",
        "Training amplifies rounding; whether it is more than that shows in the comparison by tensor.",
        "训练会放大舍入误差；是否不止于此，请看逐张量比对。",
    ),
    "ACC250.amplified": Words(
        "the losses part at step {step} (largest difference {worst}), but in the dumped steps {dumped} no operator adds"
        " more than rounding: training amplifies it",
        "损失从第 {step} 步开始出现差异（最大相对差 {worst}），但在采集的第 {dumped} 步中没有算子引入超出舍入的误差："
        "这是训练对舍入误差的放大",
    ),
    "ACC250.later": Words(
        "the losses part at step {step} of the log, after the last dumped step: in the dumped steps {dumped} (counted"
        " from 0) no operator does; largest difference {worst}, allowed {tolerance}",
        "损失从日志的第 {step} 步开始出现差异，晚于最后一个采集的步："
        "在采集的第 {dumped} 步（从 0 计）中没有算子出现差异；最大相对差 {worst}，允许 {tolerance}",
        "Capture that step with tensors on both sides (`--dump-steps {at}`, counted from 0), and the step before it.",
        "请在两侧以张量方式采集该步（`--dump-steps {at}`，从 0 计）及其前一步。",
    ),
    "ACC250.beside": Words(
        "the losses part at step {step}; at the dumped step {at} (counted from 0) they differ by {gap}, but no tensor"
        " recorded there by more than {most}: what makes the loss differ is not among the recorded operators",
        "损失从第 {step} 步开始出现差异；在采集的第 {at} 步（从 0 计）两侧损失相差 {gap}，"
        "而该步记录的张量误差最大仅为 {most}：造成损失差异的环节不在所记录的算子之中",
        "Look at what is done between the last operator and the logged loss (scaling, averaging over ranks or"
        " accumulation steps, another term, the labels), and capture at level mix.",
        "请检查最后一个算子与日志中损失之间的处理（缩放、跨 rank 或累积步的平均、附加损失项、标签），"
        "并以 mix 级别采集。",
    ),
    "ACC251.lengths": Words(
        "the baseline has {baseline} steps and the target {target}: only the common ones were compared",
        "基线有 {baseline} 步，目标有 {target} 步：只比较了共同的部分",
    ),
    "ACC251.unfinished": Words(
        "{path}: the run did not end well ({status})",
        "{path}：运行未正常结束（{status}）",
        "Look at the end of its output.log.",
        "请查看其 output.log 的结尾。",
    ),
    "ACC251.nan": Words(
        "{path}: the loss is not a number at step {step}",
        "{path}：第 {step} 步的损失不是有效数值",
        "Look for the first operator that makes NaN or infinity in the comparison by tensor.",
        "请在逐张量比对中查找最先产生 NaN 或无穷的算子。",
    ),
    "ACC250.single": Words(
        "the losses stay together but for {count} single step(s) or spikes, first step {step}: largest difference"
        " {worst}, allowed"
        " {tolerance}, over {steps} steps",
        "除 {count} 个孤立的步或尖峰（最先为第 {step} 步）外损失保持一致：共 {steps} 步，最大相对差 {worst}，允许"
        " {tolerance}",
        "Compare the batches of these steps, and the tensors at the first of them.",
        "请核对这些步的批次数据，并在其中第一步做逐张量比对。",
    ),
    "ACC251.running": Words(
        "{path}: the run still goes on, only what it has logged was compared",
        "{path}：运行尚未结束，只比较了已记录的部分",
    ),
    "ACC251.nan_gradient": Words(
        "{path}: the gradient norm is not a number at step {step}, and no loss scale explains it",
        "{path}：第 {step} 步的梯度范数不是有效数值，且没有损失缩放可以解释",
        "Compare the tensors of the backward pass at this step.",
        "请对该步的反向过程做逐张量比对。",
    ),
    "ACC252.interval": Words(
        "the baseline logs every {baseline} steps and the target every {target}: only the {common} common steps were"
        " compared; where a log shows means over its interval, they are not the same numbers",
        "基线每 {baseline} 步记录一次，目标每 {target} 步一次：只比较了共同的 {common} 步；"
        "若日志记录的是区间平均值，则两者并非同一数值",
        "Log both runs at the same interval.",
        "请让两次运行使用相同的记录间隔。",
    ),
    "ACC252.missing": Words(
        "the {side} lacks {count} step(s) that the other side has: {steps}",
        "{side}侧缺少另一侧已有的 {count} 步：{steps}",
        "Look at its log around the first of them: lines may be lost, or the run was resumed further on.",
        "请查看其日志中最先缺失之处：可能有日志丢失，或运行从更靠后的位置恢复。",
    ),
    "ACC252.resumed": Words(
        "{path}: the run was resumed {times} time(s) and logged {count} step(s) again ({steps}): the later values were"
        " compared, the earlier ones were not",
        "{path}：运行恢复了 {times} 次，有 {count} 步重复记录（{steps}）：比较的是后一次的值，之前的值未比较",
    ),
    "ACC252.several": Words(
        "{path}: {count} step(s) have several values ({steps}): the last of each was compared, as where several"
        " processes write one log",
        "{path}：有 {count} 步记录了多个值（{steps}）：比较的是每步最后一个，例如多个进程写入同一日志时",
        "Compare the log of one process, or give --pattern for its lines.",
        "请比较单个进程的日志，或用 --pattern 指定其行格式。",
    ),
    "ACC252.counted": Words(
        "{path}: its records name no step, they were counted from 1",
        "{path}：其中的记录没有步号，已从 1 开始计数",
        "Log the step, or give --pattern with a group `step`.",
        "请记录步号，或给出含 `step` 分组的 --pattern。",
    ),
    "ACC252.coarse": Words(
        "{path}: the loss is printed with few digits: at {level} a difference under {smallest} cannot be seen",
        "{path}：损失的打印位数太少：在 {level} 附近，小于 {smallest} 的差异无法看出",
        "Print more digits, or compare TensorBoard events or a JSON log.",
        "请打印更多位数，或改为比较 TensorBoard 事件或 JSON 日志。",
    ),
    "ACC252.shifted": Words(
        "the curves part as they stand (median difference {median_now}), but agree within {median} with"
        " --shift {shift}:"
        " the two logs count their steps from different numbers",
        "按现有步号曲线不一致（差异中位数 {median_now}），但使用 --shift {shift} 后差异为 {median}："
        "两份日志的步号起点不同",
        "Compare again with this --shift.",
        "请使用该 --shift 重新比较。",
    ),
    "ACC253.data": Words(
        "a spike at steps {first}-{last} on {side}, up to {peak} from {level}: it comes with the data; leave"
        " out the data"
        " of steps {skip_first}-{last} and {resume}",
        "第 {first}-{last} 步出现尖峰（{side}），由 {level} 升至 {peak}：源自数据；请跳过第"
        " {skip_first}-{last} 步的数据，"
        "并{resume}",
        "Look at these batches; lower the learning rate or clip gradients if spikes come again.",
        "请检查这些批次；若再次出现尖峰，请降低学习率或裁剪梯度。",
    ),
    "ACC253.one_side": Words(
        "a spike at steps {first}-{last} only in the {side}, up to {peak} from {level}: the other run took"
        " the same steps"
        " without it; to go on, leave out the data of steps {skip_first}-{last} and {resume}",
        "第 {first}-{last} 步仅{side}侧出现尖峰，由 {level} 升至 {peak}：另一侧在相同的步没有；若要继续训练，"
        "请跳过第 {skip_first}-{last} 步的数据，并{resume}",
        "Capture step {skip_first} on both sides and compare the tensors before blaming the data.",
        "在归因于数据之前，请在两侧采集第 {skip_first} 步并做逐张量比对。",
    ),
    "ACC253.lasting": Words(
        "the loss of {side} rises at step {first} from {level} to {peak} and has not come back by step"
        " {last}: the run is"
        " lost from there; leave out the data of steps {skip_first}-{first} and {resume}",
        "{side}的损失在第 {first} 步由 {level} 升至 {peak}，到第 {last} 步仍未回落：此后的训练已失效；"
        "请跳过第 {skip_first}-{first} 步的数据，并{resume}",
        "Lower the learning rate, or clip gradients, before going on.",
        "继续训练前请降低学习率或裁剪梯度。",
    ),
    "ACC253.more": Words(
        "{count} more spikes in the {side} are in the report's facts",
        "{side}侧另有 {count} 处尖峰，见报告的 facts",
    ),
    "ACC254.minimum": Words(
        "the loss scale fell {falls} times to its minimum {lowest} (step {step}): the target's gradients"
        " overflow all the"
        " time",
        "损失缩放下降 {falls} 次，降至最小值 {lowest}（第 {step} 步）：目标侧梯度持续溢出",
        "Find the first operator that makes infinity in the comparison by tensor; bf16 needs no loss scale.",
        "请在逐张量比对中查找最先产生无穷的算子；使用 bf16 则不需要损失缩放。",
    ),
    "ACC254.falls": Words(
        "the target's loss scale fell {falls} times, the baseline's {baseline}: first at step {step}, lowest {lowest}",
        "目标侧的损失缩放下降了 {falls} 次，基线为 {baseline}：最先在第 {step} 步，最低 {lowest}",
        "More overflows than on the baseline: compare the tensors at the step before.",
        "溢出多于基线：请在其前一步做逐张量比对。",
    ),
    "ACC254.skipped": Words(
        "the baseline skipped {baseline} update(s) for overflows, the target {target}: from there their weights differ",
        "基线因溢出跳过 {baseline} 次更新，目标跳过 {target} 次：此后两侧的权重不同",
        "Compare the loss scales; a skipped update is one batch less.",
        "请比较两侧的损失缩放；每跳过一次更新就少用一个批次。",
    ),
    "ACC255.met": Words(
        "{name} {value} {sign} {wanted}: reached (step {step}; baseline: {baseline})",
        "{name} {value} {sign} {wanted}：已达到（第 {step} 步；基线：{baseline}）",
    ),
    "ACC255.missed": Words(
        "{name} ended at {value} (step {step}), wanted {sign} {wanted} (baseline: {baseline})",
        "{name} 最终为 {value}（第 {step} 步），要求 {sign} {wanted}（基线：{baseline}）",
        "Where the baseline reaches it, see where the losses part; else train longer on both.",
        "若基线能达到，请查看损失从何处分开；否则两侧都需训练更久。",
    ),
    "ACC255.absent": Words(
        "{name} {sign} {wanted} was not shown: {path} has no {name}; it has {known}",
        "未能表明 {name} {sign} {wanted}：{path} 中没有 {name}；已有 {known}",
        "Give one of these names, or let the script log the metric.",
        "请使用其中的名称，或让脚本记录该指标。",
    ),
    "ACC255.finals": Words(
        "metrics at the last common step, baseline and target: {metrics}; {count} metric(s), none further apart than"
        " {tolerance} and its printed digits can tell",
        "最后一个共同步的指标（基线与目标）：{metrics}；共 {count} 个，"
        "差异均未超出 {tolerance} 与打印位数所能判断的范围",
    ),
    "ACC255.differs": Words(
        "{count} metric(s) end further apart than {tolerance}, baseline and target: {metrics}",
        "{count} 个指标最终相差超过 {tolerance}（基线与目标）：{metrics}",
        "See where the losses part; where they do not, compare the data and the code of the evaluation.",
        "请查看损失从何处分开；若损失一致，请核对评估所用的数据与代码。",
    ),
    "curves.final": Words("{name} {baseline} / {target} (step {step})", "{name} {baseline} / {target}（第 {step} 步）"),
    "ACC256.rate": Words(
        "not the same training: the learning rate differs at {count} of {steps} steps, first step {step}:"
        " {baseline} and"
        " {target}",
        "不是同一个训练：{steps} 步中有 {count} 步学习率不同，最先为第 {step} 步：{baseline} 与 {target}",
        "Give both runs the same schedule: warm-up, number of steps, number of devices and batch size enter into it.",
        "请让两次运行使用相同的学习率调度：预热、总步数、设备数和批大小都会影响它。",
    ),
    "curves.loss_never": Words("the losses do not part", "损失未出现分歧"),
    "curves.loss_later": Words("the losses part at step {step} only", "损失到第 {step} 步才出现分歧"),
    "ACC258.first": Words(
        "the gradient norm parts at step {step}: {baseline} and {target}; {loss}",
        "梯度范数自第 {step} 步起出现分歧：{baseline} 与 {target}；{loss}",
        "The forward agrees and the backward, or what is done to the gradients, does not. Capture this step on both "
        "sides and compare: the first divergent backward operator is named.",
        "前向一致，而反向或梯度处理不一致。请在两侧采集这一步并比对：结果会指出最先出现分歧的反向算子。",
    ),
    "ACC258.factor": Words(
        "the target's gradient norm is {factor} times the baseline's on all steps, first {baseline} and {target} at "
        "step {step}",
        "目标侧的梯度范数在所有步上都是基线的 {factor} 倍，最先为第 {step} 步：{baseline} 与 {target}",
        "One factor is no rounding: look for a norm taken before unscale_, another number of accumulated batches, "
        "gradients summed where the other side averages them over ranks, or another batch size.",
        "固定倍数不是舍入误差：请检查是否在 unscale_ 之前取范数、梯度累积次数不同、"
        "跨 rank 求和与求平均不一致，或批大小不同。",
    ),
    "ACC257.cut": Words(
        "{path}: cut short in record {line}, what comes before it was read",
        "{path}：在第 {line} 条记录处被截断，已读取其之前的内容",
    ),
    "ACC257.line": Words(
        "{path}: line {line} is not a record and was left out, with any like it",
        "{path}：第 {line} 行不是有效记录，已略过（其他同类行亦然）",
    ),
    "ACC257.long_line": Words(
        "{path}: line {line} is longer than {limit} bytes and was left out",
        "{path}：第 {line} 行超过 {limit} 字节，已略过",
    ),
    "ACC257.no_step": Words(
        "{path}: line {line} names no step that can be, and was left out, with any like it",
        "{path}：第 {line} 行没有有效步号，已略过（其他同类行亦然）",
    ),
    "ACC257.many_names": Words(
        "{path}: names more than {limit} numbers, the others were left out",
        "{path}：其中的指标超过 {limit} 个，其余已略过",
    ),
    "ACC257.many_values": Words(
        "{path}: holds more than {limit} values, those from line {line} on were left out",
        "{path}：数值超过 {limit} 个，第 {line} 行之后的已略过",
    ),
    "ACC257.checksum": Words(
        "{path}: record {line} is damaged (checksum) and was left out, with any like it",
        "{path}：第 {line} 条记录已损坏（校验和不符），已略过（其他同类记录亦然）",
    ),
    "ACC257.unframed": Words(
        "{path}: damaged at byte {offset}, what follows cannot be read",
        "{path}：在字节 {offset} 处损坏，其后的内容无法读取",
        "Copy the file again.",
        "请重新复制该文件。",
    ),
    "curves.both": Words("both sides", "两侧"),
    "curves.checkpoint": Words(
        "resume from the checkpoint of step {step} ({where})",
        "从第 {step} 步的检查点恢复（{where}）",
    ),
    "curves.no_checkpoint": Words(
        "resume from a checkpoint before them (none was found in the log or beside it)",
        "从其之前的检查点恢复（日志中及其所在目录均未找到）",
    ),
    "curves.following": Words(
        "step {step}: {baseline} and {target}, relative difference {relative}",
        "第 {step} 步：{baseline} 与 {target}，相对差 {relative}",
    ),
    "curves.following_apart": Words(
        "step {step}: {baseline} and {target}, relative difference {relative}; apart since step {first}",
        "第 {step} 步：{baseline} 与 {target}，相对差 {relative}；自第 {first} 步起分开",
    ),
    "curves.followed_ended": Words("the run ended", "运行已结束"),
    "curves.followed_timeout": Words("the time to follow is over", "跟踪时间已到"),
    "curves.followed_idle": Words("nothing new was logged for a while", "一段时间内没有新的记录"),
    "curves.followed_stopped": Words("stopped, here is what came so far", "已停止，以下为目前的结果"),
    "curves.unreadable": Words("{path}: cannot be read: {error}", "{path}：无法读取：{error}"),
    "curves.empty": Words(
        "{path}: the log is empty",
        "{path}：日志为空",
        "Wait for its first line (--follow does), or look why the run wrote nothing.",
        "请等待其第一行输出（--follow 会等待），或检查运行为何没有写入。",
    ),
    "curves.binary": Words(
        "{path}: binary, and no TensorBoard event file",
        "{path}：是二进制文件，且不是 TensorBoard 事件文件",
        "Give a text log, CSV, JSON, or a file named events.out.tfevents.*",
        "请给出文本日志、CSV、JSON，或名为 events.out.tfevents.* 的文件。",
    ),
    "curves.utf16": Words(
        "{path}: is UTF-16 text, as PowerShell redirects it",
        "{path}：是 UTF-16 文本（PowerShell 重定向的输出）",
        "Convert it first: iconv -f utf-16 -t utf-8.",
        "请先转换：iconv -f utf-16 -t utf-8。",
    ),
    "curves.too_large": Words(
        "{path}: a JSON document beyond {limit_mib} MiB",
        "{path}：JSON 文档超过 {limit_mib} MiB",
        "Write a record a line (.jsonl): such logs are read piece by piece.",
        "请改为每行一条记录（.jsonl）：此类日志可分段读取。",
    ),
    "curves.json_cut": Words(
        "{path}: cut short or damaged at line {line}: {error}",
        "{path}：在第 {line} 行被截断或损坏：{error}",
        "Copy the log again; if the run is going, follow it with --follow.",
        "请重新复制日志；若运行尚未结束，请使用 --follow。",
    ),
    "curves.no_records": Words(
        "{path}: this JSON holds no records of steps",
        "{path}：该 JSON 中没有按步的记录",
        "Expected: a list of records, a dict with such a list, or a dict of lists, with numbers such as `loss`.",
        "应为记录的列表、含此类列表的字典，或由列表组成的字典，其中有 `loss` 等数值。",
    ),
    "curves.no_heading": Words(
        "{path}: the first line of the table is no heading",
        "{path}：表格的第一行不是表头",
        "Put the names of the columns into the first line: step,loss,...",
        "请在第一行写上列名：step,loss,...",
    ),
    "curves.several": Words(
        "{path}: holds several logs: {files}",
        "{path}：其中有多份日志：{files}",
        "Name the one to compare.",
        "请指定要比较的那一份。",
    ),
    "curves.no_numbers": Words(
        "{path}: no line names a step and a number; the first that was not understood, line {line}: {text}",
        "{path}：没有任何一行同时包含步号和数值；第一处未能识别的内容在第 {line} 行：{text}",
        "Give a pattern for its lines: --pattern 'at (?P<step>\\d+): (?P<loss>\\S+)'",
        "请给出其行的匹配模式：--pattern 'at (?P<step>\\d+): (?P<loss>\\S+)'",
    ),
    "curves.no_loss": Words(
        "{path}: no step with a loss; it has {known}",
        "{path}：没有损失；已有 {known}",
        "Say with --loss NAME which of these it is, or give a --pattern; of a gpulog.json: check that the script calls"
        " backward on a scalar loss.",
        "请用 --loss NAME 指明其中哪一个是损失，或给出 --pattern；若为 gpulog.json，请确认脚本对标量损失调用"
        " backward。",
    ),
    "curves.no_common": Words(
        "no step is in both: {baseline_path} has {baseline}, {target_path} has {target}",
        "两侧没有相同的步：{baseline_path} 有 {baseline}，{target_path} 有 {target}",
        "If one counts from another number, --shift N adds N to the target's steps.",
        "若步号起点不同，可用 --shift N 给目标侧的步号加 N。",
    ),
    "curves.pattern": Words(
        "--pattern {pattern}: not a regular expression: {error}",
        "--pattern {pattern}：不是正则表达式：{error}",
        "Python's syntax, as 'at (?P<step>\\d+): (?P<loss>\\S+)'.",
        "使用 Python 语法，例如 'at (?P<step>\\d+): (?P<loss>\\S+)'。",
    ),
    "curves.pattern_groups": Words(
        "--pattern {pattern}: needs a group named `step` and one for each number",
        "--pattern {pattern}：需要名为 `step` 的分组，以及每个数值各一个分组",
        "As 'at (?P<step>\\d+): (?P<loss>\\S+)'.",
        "例如 'at (?P<step>\\d+): (?P<loss>\\S+)'。",
    ),
    "curves.target": Words(
        "--target-metric {given}: expected NAME, one of {signs} and a number",
        "--target-metric {given}：应为名称、{signs} 之一和一个数",
        "As 'val_loss<=2.9'; in quotes, so that the shell leaves < and > alone.",
        "例如 'val_loss<=2.9'；请加引号，以免 shell 解释 < 和 >。",
    ),
    "curves.seconds": Words("{name} {given}: expected seconds above 0", "{name} {given}：应为大于 0 的秒数"),
}
