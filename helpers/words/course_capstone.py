"""Words of the course's capstone: its four stages, what their checks say, and the hints."""

from helpers.words import Words

_SAID = {
    "fields": ("the answer needs {fields}; this is {given}", "答案需要包含 {fields}，收到的是 {given}"),
    "no_device": (
        "`check` with device {given} finds {tier}: choose an NPU that is here, real or simulated",
        "以 {given} 运行 `check` 得到的是 {tier}：请选择这里有的 NPU，真实或模拟均可",
    ),
    "ready": ("`check` on {tier}: {said}", "`check`（{tier}）：{said}"),
    "dtype": (
        "16-bit formats that `compute_check` computed in: {known}; chosen: {dtype}",
        "`compute_check` 能够计算的 16 位格式：{known}；所选：{dtype}",
    ),
    "open": (
        "`scan` still leaves lines {lines} to a person",
        "`scan` 仍有需要人工判断的行：{lines}",
    ),
    "clean": (
        "`scan` leaves nothing to a person: all {count} CUDA uses are handled",
        "`scan` 没有留下需要人工判断的位置：{count} 处 CUDA 用法均已处理",
    ),
    "first": ("the stage {stage} comes first: its script is not there yet", "请先完成 {stage} 阶段：还没有它的脚本"),
    "arguments": (
        "`arguments` is a list of texts, such as [\"--steps\", \"4\"]; this is {given}",
        "`arguments` 应为文本列表，例如 [\"--steps\", \"4\"]；收到的是 {given}",
    ),
    "steps": (
        "`dump_steps` is a list of step numbers from 0 to below {steps}; this is {given}",
        "`dump_steps` 应为步号列表，从 0 起且小于 {steps}；收到的是 {given}",
    ),
    "yes_no": ("`{given}` is True or False", "`{given}` 应为 True 或 False"),
    "judged": (
        "your verdict, aligned: {given}, held against the report's",
        "你的结论 aligned：{given}，与报告对照",
    ),
    "same_losses": (
        "the same is computed: losses within {worst} of the first loop's",
        "计算的仍是同一件事：损失与修改前相差不超过 {worst}",
    ),
    "other_losses": (
        "something else is computed: losses are {worst} apart from the first loop's",
        "计算的已不是同一件事：损失与修改前相差 {worst}",
    ),
    "loads_less": (
        "waiting for data: {before} ms a step before, {after} ms now",
        "等待数据：修改前每步 {before} ms，现在 {after} ms",
    ),
    "loads_still": (
        "a step still waits {after} ms for data ({before} ms before): more than half of it is left",
        "每步仍等待数据 {after} ms（修改前 {before} ms）：剩余超过一半",
    ),
    "reads_less": (
        "numbers fetched from the device in a step: {before} before, {count} now",
        "每步从设备取回的数：修改前 {before} 个，现在 {count} 个",
    ),
    "reads_still": (
        "numbers fetched from the device in a step: {count} ({before} before); each one makes the host wait",
        "每步从设备取回 {count} 个数（修改前 {before} 个），每一个都让主机等待",
    ),
    "not_done": ("the stage {stage} is not done yet", "{stage}阶段尚未完成"),
    "environment": ("environment", "环境检查"),
    "migration": ("migration", "迁移"),
    "precision": ("precision", "精度对齐"),
    "profiling": ("profiling", "性能分析"),
}

WORDS: dict[str, Words] = {
    **{f"course.capstone.{name}": Words(en, zh) for name, (en, zh) in _SAID.items()},
    "name.capstone": Words("Capstone", "综合课题"),
    "course.task.capstone_environment": Words("Stage 1: where it goes", "阶段 1：去哪里运行"),
    "course.task.capstone_migration": Words("Stage 2: what a person must change", "阶段 2：必须由人修改的地方"),
    "course.task.capstone_precision": Words("Stage 3: do the two agree", "阶段 3：两侧是否一致"),
    "course.task.capstone_profiling": Words("Stage 4: what costs the host time", "阶段 4：主机的时间花在哪里"),
    "course.hint.capstone_environment": Words(
        "The second line of `check` names the tier that was found; the table of `compute_check` names the formats.",
        "`check` 的第二行给出找到的设备层级；`compute_check` 的表给出数据格式。",
        "Copy the tier as the report writes it. Of the two 16-bit formats take the one with float32's exponent, by the "
        "name that torch gives it.",
        "层级照抄报告的写法。两种 16 位格式中，选指数位与 float32 相同的那一种，写法同 torch 的 dtype 名称。",
    ),
    "course.hint.capstone_migration": Words(
        "`scan` names each line and what an NPU answers there. Ask what the line wants to know, not which card it is.",
        "`scan` 指出每一行以及 NPU 在那里的回答。想一想这一行真正想知道什么，而不是它在哪张卡上。",
        "One line asks a version number where it wants to know about bfloat16; one looks for a name where anything but "
        "the host will do.",
        "一行问的是版本号，想知道的却是 bfloat16；另一行找的是一个名字，其实只要不在主机上即可。",
    ),
    "course.hint.capstone_precision": Words(
        "Run the command twice on one side: does it repeat itself? Then choose steps before and after an update.",
        "在同一侧把命令运行两次：结果相同吗？然后选取更新之前与之后的步。",
        "Look through the script's arguments for what differs each time and what rounds; then read the report and say "
        "what it says.",
        "在脚本的参数中找出每次都不同的项和造成舍入的项；然后读报告，照实回答。",
    ),
    "course.hint.capstone_profiling": Words(
        "The parts of a step name where it waits; calls a step name what is fetched. Both are in Python, not in the "
        "network.",
        "一步的各部分指出在哪里等待，每步的调用次数指出取回了什么。两者都在 Python 里，不在网络里。",
        "What `__getitem__` does value by value, each time, can be done once for all, by operations on a tensor; "
        "gradients need not be fetched at every step.",
        "`__getitem__` 每次逐个值做的事，可以用张量运算一次做完；梯度不必每一步都取回。",
    ),
}
