"""Words of the exercises: tasks, hints (the second one from the second try on), what is right and what is missing."""

from helpers.words import Words

_COMMON = {
    "course.lang": Words("en", "zh"),
    "course.status.done": Words("[完成 / done]", "[完成 / done]"),
    "course.status.partly": Words("[部分完成 / partly]", "[部分完成 / partly]"),
    "course.status.not_yet": Words("[未完成 / not yet]", "[未完成 / not yet]"),
    "course.simulated": Words("ran on the simulated NPU", "在模拟 NPU 上运行"),
    "course.unknown_task": Words(
        "there is no task {given}", "没有名为 {given} 的练习", "The tasks are: {known}.", "练习有：{known}。"
    ),
    "course.record": Words(
        "{path} is no record of the course: {why}", "{path} 不是课程记录：{why}",
        "Move the file away and run the notebook again.", "移走该文件，再重新运行笔记本。",
    ),
    "course.not_recorded": Words("the outcome was not kept in {path}: {why}", "结果未能写入 {path}：{why}"),
    "course.trouble.stub": Words("no answer yet: the TODO stands", "尚未作答：TODO 还在"),
    "course.trouble.none": Words("no answer yet: it is None", "尚未作答：答案为 None"),
    "course.trouble.raised": Words("the answer raised {error}", "答案抛出异常：{error}"),
    "course.trouble.slow": Words("the answer took longer than {seconds} s", "答案运行超过 {seconds} 秒"),
    "course.trouble.printed": Words(
        "the answer printed more than {characters} characters", "答案打印了超过 {characters} 个字符"
    ),
    "course.trouble.check": Words("the answer could not be judged: {error}", "无法判断该答案：{error}"),
}  # fmt: skip

_ENV = {
    "course.task.env": Words("A. The pair that belongs together", "A. 版本配对"),
    "course.hint.env": Words(
        "Which package of the pair is installed, and which releases of the other one name it?",
        "配对中的哪个包已经装好？另一个包的哪些版本与它对应？",
        "Keep the torch that is there; look up torch_npu of the same release line, and mind the CANN it wants.",
        "保留已安装的 torch，找同一版本线的 torch_npu，并留意它要求的 CANN。",
    ),
    "course.env.fields": Words(
        "the answer is not a dict with texts for {fields} (it is of type {given})",
        "答案应为字典，{fields} 各为文本（现在的类型是 {given}）",
    ),
    "course.env.no_version": Words("{field} is no version: {given}", "{field} 不是版本号：{given}"),
    "course.env.pair": Words(
        "torch {torch} and torch_npu {torch_npu} are of one release",
        "torch {torch} 与 torch_npu {torch_npu} 属于同一版本",
    ),
    "course.env.no_pair": Words(
        "torch {torch} and torch_npu {torch_npu} do not belong together",
        "torch {torch} 与 torch_npu {torch_npu} 不配对",
    ),
    "course.env.cann": Words(
        "torch_npu {torch_npu} is published for CANN {cann}", "torch_npu {torch_npu} 的发布说明支持 CANN {cann}"
    ),
    "course.env.no_cann": Words(
        "torch_npu {torch_npu} is not published for CANN {cann}", "torch_npu {torch_npu} 的发布说明不支持 CANN {cann}"
    ),
    "course.env.no_wheel": Words(
        "torch_npu {torch_npu} has no wheel for Python {python} on this machine",
        "torch_npu {torch_npu} 没有适合本机 Python {python} 的 wheel",
    ),
    "course.env.command": Words(
        "what the command installs cannot be told from: {why}", "无法判断该命令会安装什么：{why}"
    ),
    "course.env.conflict": Words(
        "pip would refuse: torch_npu {torch_npu} does not take torch {torch}",
        "pip 会拒绝：torch_npu {torch_npu} 不接受 torch {torch}",
    ),
    "course.env.command_leaves": Words(
        "the command leaves torch {torch} and torch_npu {torch_npu}",
        "命令执行后是 torch {torch} 与 torch_npu {torch_npu}",
    ),
    "course.env.torch_kept": Words("the installed torch {torch} stays", "已安装的 torch {torch} 保持不变"),
    "course.env.torch_replaced": Words(
        "the installed torch is replaced by {torch}: other users of this machine need it",
        "已安装的 torch 被换成 {torch}：本机其他用户还需要它",
    ),
    "course.env.rule": Words("`check` still fails by {rule}: {said}", "`check` 仍未通过 {rule}：{said}"),
    "course.env.ready": Words("`check` finds nothing that fails", "`check` 不再有失败项"),
}

WORDS: dict[str, Words] = {**_COMMON, **_ENV}
