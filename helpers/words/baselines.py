"""Words of baseline bundles, and of what earlier attempts tell."""

from helpers.words import Words

_HEADINGS = {
    "quantity": ("Quantity", "项目"),
    "attempts": ("Attempts", "历次比对"),
    "attempt": ("Attempt", "次数"),
    "when": ("When (UTC)", "时间（UTC）"),
    "first_divergence": ("First divergence", "最先出现差异"),
    "parting": ("Out of tolerance", "超出容差"),
    "loss_difference": ("Loss difference", "损失相对差"),
    "changed": ("Changed", "改动"),
}
_ROWS = {
    "machine": ("machine", "设备"),
    "losses": ("losses", "损失"),
    "statistics": ("statistics", "统计量"),
    "throughput": ("speed", "速度"),
    "samples": ("samples", "样本"),
    "memory_allocated": ("peak memory, allocated", "显存峰值（已分配）"),
    "memory_reserved": ("peak memory, reserved", "显存峰值（已预留）"),
    "memory_device": ("memory of the device", "设备显存"),
    "memory_resident": ("peak memory of the process", "进程内存峰值"),
    "apart": ("losses of both runs", "两次运行的损失"),
    "next": ("next, on the NPU's machine", "下一步（在 NPU 所在的机器上）"),
}
_VALUES = {
    "machine": ("{name}", "{name}"),
    "losses": ("{count} steps, {first} to {last}", "{count} 步，{first} 至 {last}"),
    "statistics": ("{operators} operators of {steps} steps", "{steps} 步共 {operators} 个算子"),
    "throughput": (
        "{median} steps/s (median of {count}; four of five from {low} to {high})",
        "{median} 步/秒（{count} 步的中位数；八成位于 {low} 至 {high}）",
    ),
    "samples": ("{value} samples/s", "{value} 样本/秒"),
    **{f"memory_{kind}": ("{value} MiB", "{value} MiB") for kind in ("allocated", "reserved", "device", "resident")},
    "apart": (
        "differ by {value} at most (recorded, and as the script is)",
        "最大相对差 {value}（一次用于记录，一次照原样运行）",
    ),
    "metric": ("{value} at step {step}, at the script's end", "{value}（第 {step} 步，脚本运行至结束）"),
    "metric_so_far": ("{value} at step {step}, stopped there", "{value}（第 {step} 步，在此停止）"),
}
#: What follows on each verdict of two attempts.
_NUMBERS = (
    "; operators out of tolerance {parting_before} -> {parting_now}, loss difference {loss_before} -> {loss_now}."
    " Changed: {changed}",
    "；超出容差的算子 {parting_before} -> {parting_now}，损失相对差 {loss_before} -> {loss_now}。改动：{changed}",
)
_HELPED = {
    "gone": (
        "attempt {now} against {before}: it helped, the first divergence is gone (was {was})",
        "第 {now} 次与第 {before} 次相比：有效，最先出现的差异已消失（原为 {was}）",
    ),
    "later": (
        "attempt {now} against {before}: it helped, the first divergence moved on from {was} to {is}",
        "第 {now} 次与第 {before} 次相比：有效，最先出现差异的位置从 {was} 后移到 {is}",
    ),
    "smaller": (
        "attempt {now} against {before}: the first divergence is where it was, its error smaller ({was}, now {is})",
        "第 {now} 次与第 {before} 次相比：最先出现差异的位置不变，误差变小（原为 {was}，现为 {is}）",
    ),
    "same": (
        "attempt {now} against {before}: it changed nothing, the first divergence is still {is}",
        "第 {now} 次与第 {before} 次相比：没有变化，最先出现差异的仍是 {is}",
    ),
    "larger": (
        "attempt {now} against {before}: worse, the first divergence is where it was with a large"
        "r error ({was}, now {is})",
        "第 {now} 次与第 {before} 次相比：变差，最先出现差异的位置不变，误差变大（原为 {was}，现为 {is}）",
    ),
    "earlier": (
        "attempt {now} against {before}: worse, the first divergence moved back from {was} to {is}",
        "第 {now} 次与第 {before} 次相比：变差，最先出现差异的位置从 {was} 前移到 {is}",
    ),
    "new": (
        "attempt {now} against {before}: worse, there was no divergence and now it is {is}",
        "第 {now} 次与第 {before} 次相比：变差，原先没有差异，现在是 {is}",
    ),
    "still_none": (
        "attempt {now} against {before}: no divergence in either",
        "第 {now} 次与第 {before} 次相比：两次都没有差异",
    ),
}

WORDS: dict[str, Words] = {
    **{f"ACC285.{name}": Words(en + _NUMBERS[0], zh + _NUMBERS[1]) for name, (en, zh) in _HELPED.items()},
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"baseline.row_{name}": Words(en, zh) for name, (en, zh) in _ROWS.items()},
    **{f"baseline.value_{name}": Words(en, zh) for name, (en, zh) in _VALUES.items()},
    "baseline.asked": Words("as asked", "按要求"),
    "baseline.exists": Words(
        "{path}: is there already, and a bundle is never written over another",
        "{path}：已存在，不会覆盖已有的基线包",
        "Give a new name, or remove it.",
        "请另取名称，或先将其删除。",
    ),
    "baseline.number": Words("{name} {given}: expected at least {least}", "{name} 为 {given}：应不小于 {least}"),
    "baseline.no_msprobe": Words(
        "msprobe, which records the operators' statistics, is not installed in {python}",
        "{python} 中没有安装用于记录算子统计量的 msprobe",
        "`pip install mindstudio-probe` (it needs no NPU), or record all but the statistics with --no-statistics.",
        "执行 `pip install mindstudio-probe`（无需 NPU），或用 --no-statistics 记录统计量以外的全部内容。",
    ),
    "baseline.leak": Words(
        "not written: a key or token of this machine would have been in {name}",
        "未写入：{name} 中会包含本机的密钥或令牌",
        "Take it out of the script's arguments and of what it names its parameters.",
        "请从脚本参数和参数名称中去掉它。",
    ),
    "baseline.damaged": Words(
        "{path}: not a baseline bundle as it was written: {error}",
        "{path}：与写入时的基线包不同：{error}",
        "Copy it again and compare the checksum of both ends (`sha256sum`); else record it anew.",
        "请重新复制，并核对两端的校验和（`sha256sum`）；否则请重新录制。",
    ),
    "ACC280.recorded": Words(
        "{path}: baseline of {steps} steps on {machine}, {size_kib} KiB",
        "{path}：在 {machine} 上录制了 {steps} 步的基线，{size_kib} KiB",
        "Copy it to the NPU's machine; there capture with --steps {steps} --dump-steps {dump_steps}, then compare.",
        "复制到 NPU 所在的机器；在那里用 --steps {steps} --dump-steps {dump_steps} 采集，然后比对。",
    ),
    "ACC280.cpu": Words(
        "no GPU took part ({why}): the CPU ({machine}) stood in for CUDA, so speed and memory are its own",
        "没有 GPU 参与（{why}）：由 CPU（{machine}）代替 CUDA，因此速度和内存均为 CPU 的数值",
        "Record on a machine where `python -c 'import torch; print(torch.cuda.is_available())'` prints True.",
        "请在 `python -c 'import torch; print(torch.cuda.is_available())'` 输出 True 的机器上录制。",
    ),
    "ACC280.withheld": Words(
        "{count} argument(s) of the script look like credentials and are not in the bundle: {names}",
        "脚本的 {count} 个参数看起来是凭据，未写入基线包：{names}",
        "Give them again where the script runs next: the command below asks for them as variables of the shell.",
        "在下一台机器上运行脚本时请重新给出：下面的命令以 shell 变量的形式要求它们。",
    ),
    "ACC281.left_out": Words(
        "operators' statistics were not recorded, as asked: only curves and fingerprints can be compared",
        "按要求未记录算子统计量：只能比对曲线和指纹",
    ),
    "ACC282.too_few": Words(
        "no speed was recorded: too few of {count} steps are left behind the warm-up",
        "未记录速度：{count} 步中除去预热后所剩太少",
        "Time more steps with --timing-steps, or leave fewer out with --warmup.",
        "请用 --timing-steps 增加计时步数，或用 --warmup 减少预热步数。",
    ),
    "ACC283.no_final": Words(
        "no final metric was recorded: the run did not come to its end, or printed none (seen: {known})",
        "未记录最终指标：运行未到结束，或没有输出指标（看到的有：{known}）",
        "--timing-steps 0 runs the script to its end.",
        "--timing-steps 0 会让脚本运行至结束。",
    ),
    "ACC284.statistics": Words(
        "the {side} is a bundle ({machine}, {recorded}), its tensors are not in it: operators were judged by norm and"
        " extremes; not judged were single values, places of NaN, and by replay which side is wrong",
        "{side}是基线包（{machine}，{recorded}），其中没有张量：算子按范数和极值判定；"
        "未判定的有单个数值、NaN 的位置，以及通过重算判断哪一侧出错",
        "Where it parts, capture tensors of that step on both machines and compare again.",
        "在出现差异之处，请在两台机器上采集该步的张量后再次比对。",
    ),
    "ACC284.curves": Words(
        "the {side} is a bundle ({machine}, {recorded}) without statistics: experiment and curves were compared, which"
        " operator parts the runs was not looked for",
        "{side}是不含统计量的基线包（{machine}，{recorded}）：只比对了实验条件和曲线，没有查找最先分开的算子",
        "Record the baseline with msprobe installed.",
        "请在安装了 msprobe 的环境中录制基线。",
    ),
    "ACC284.no_curves": Words(
        "losses were not compared: there is no {name} on both sides", "未比对损失：两侧并非都有 {name}"
    ),
    "ACC285.only": Words(
        "attempts so far: {count}; there is none to hold it against", "目前共有 {count} 次比对，没有可供对照的前一次"
    ),
    "ACC285.other_scope": Words(
        "attempt {now} looked at something else than {before} ({what}): whether it helped is not known."
        " Changed: {changed}",
        "第 {now} 次与第 {before} 次的比对范围不同（{what}）：无法判断是否有效。改动：{changed}",
        "Compare with the same baseline and the same options.",
        "请使用相同的基线和选项进行比对。",
    ),
    "ACC285.not_judged": Words(
        "attempt {which} did not judge all operators (another experiment, no statistics, or files that are missing or"
        " cannot be read): whether {now} helped against {before} is not known. Changed: {changed}",
        "第 {which} 次没有对全部算子作出判定（不是同一个实验、没有统计量，或文件缺失、无法读取）：无法判断第 {now} 次"
        "相对第 {before} 次是否有效。改动：{changed}",
        "Mend what that comparison reports as FAIL (capture again where files are damaged), then compare again.",
        "请先解决该次比对中报告为 FAIL 的问题（文件损坏时请重新采集），然后再次比对。",
    ),
    "attempts.none": Words("none", "无"),
    "attempts.not_judged": Words("not judged", "未判定"),
    "attempts.nothing": Words("nothing that was recorded", "所记录的内容均未改变"),
    "attempts.unknown": Words("not known (no capture.json)", "未知（没有 capture.json）"),
    "attempts.more": Words("and {count} more", "另有 {count} 项"),
    "attempts.place": Words(
        "{operator} (step {step}, rank {rank}, error {error})", "{operator}（第 {step} 步，rank {rank}，误差 {error}）"
    ),
    "attempts.none_kept": Words(
        "{path}: no attempts are kept here",
        "{path}：这里没有历次比对的记录",
        "Give a folder to `ascend-workbook compare --attempts FOLDER`, and the same here.",
        "请在 `ascend-workbook compare --attempts 目录` 中指定目录，并在此处给出同一目录。",
    ),
    "baseline.told.timed": Words(
        "{tier}: {steps} steps for speed and memory", "{tier}：运行 {steps} 步以测量速度与内存"
    ),
    "baseline.told.whole": Words(
        "{tier}: to the script's end for speed and memory", "{tier}：运行至脚本结束以测量速度与内存"
    ),
    "attempts.unreadable": Words(
        "{path}: not an attempt as it was kept: {error}",
        "{path}：不是所保存的比对记录：{error}",
        "Remove the file; the others are read without it.",
        "请删除该文件；其余记录不受影响。",
    ),
}
