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

_RUNS = {
    "course.edit.kind": Words(
        "the answer is neither a list of (old, new) pairs nor a script's text (it is of type {given})",
        "答案既不是 (旧, 新) 文本对的列表，也不是脚本全文（现在的类型是 {given}）",
    ),
    "course.edit.pair": Words("pair {number} is not (old text, new text)", "第 {number} 对不是 (旧文本, 新文本)"),
    "course.edit.count": Words(
        "the old text of pair {number} occurs {count} times, not once: {old}",
        "第 {number} 对的旧文本出现 {count} 次，应恰好一次：{old}",
    ),
    "course.edit.unchanged": Words("no answer yet: the script is unchanged", "尚未作答：脚本没有改动"),
    "course.edit.large": Words("the script has more than {characters} characters", "脚本超过 {characters} 个字符"),
    "course.edit.syntax": Words(
        "the changed script is no Python: line {line}: {why}", "改后的脚本不是合法的 Python：第 {line} 行：{why}"
    ),
    "course.run.reference": Words(
        "the script as it was given did not run here, so nothing can be compared: {why}",
        "原脚本在这台机器上没有跑通，无法比较：{why}",
        "Run `ascend-workbook check` and see whether torch can be imported.",
        "运行 `ascend-workbook check`，确认 torch 可以导入。",
    ),
    "course.run.ran": Words("ran to its end: {steps} steps", "运行完毕：{steps} 步"),
    "course.run.failed": Words("it does not run to its end: {why}", "没有运行完毕：{why}"),
    "course.run.on_npu": Words("trains on {devices}", "在 {devices} 上训练"),
    "course.run.off_npu": Words(
        "the weights lie on {devices}, not on the NPU", "权重在 {devices} 上，不在 NPU 上"
    ),
    "course.run.steps": Words("{steps} steps were trained, not {wanted}", "训练了 {steps} 步，应为 {wanted} 步"),
    "course.run.no_loss": Words(
        "step {step} has the loss {loss}; {wanted} was expected", "第 {step} 步的损失是 {loss}，应为 {wanted}"
    ),
    "course.run.losses_part": Words(
        "with another seed the losses part at step {step}: {loss}, expected {wanted}",
        "换一个种子后，损失从第 {step} 步起不同：得到 {loss}，应为 {wanted}",
    ),
    "course.run.losses_same": Words(
        "with another seed the losses of all {steps} steps agree (largest relative difference {worst})",
        "换一个种子后，全部 {steps} 步的损失一致（最大相对误差 {worst}）",
    ),
}

_SCRIPT = {
    "course.task.script": Words("B. A script with traps", "B. 有陷阱的脚本"),
    "course.hint.script": Words(
        "`scan` names the lines; ask of each what it decides, and whether an NPU decides the same.",
        "`scan` 给出了行号；逐行想一想：它决定了什么？在 NPU 上还会这样决定吗？",
        "What fails loudly is the smaller part. A branch that is silently not taken changes the loss: look at every "
        "comparison with a text that says cuda.",
        "报错的只是一小部分。悄悄走了另一个分支会改变损失：请看每一处与含 cuda 的文本所做的比较。",
    ),
    "course.script.clean": Words("`scan` finds no open place", "`scan` 没有发现遗留问题"),
    "course.script.open": Words(
        "`scan` still finds {count} open place(s), in line {lines}", "`scan` 仍发现 {count} 处遗留问题，位于第 {lines} 行"
    ),
    "course.script.short": Words(
        "the card ran out of memory in step {step}, and the script did not get over it as it did before",
        "第 {step} 步显存不足，脚本没有像原来那样挺过去",
    ),
    "course.script.printed": Words(
        "the last line printed is {printed}, not {wanted}", "最后打印的是 {printed}，应为 {wanted}"
    ),
    "course.script.not_kept": Words(
        "the weights are not kept in {name} as they were", "权重没有像原来那样存入 {name}"
    ),
    "course.script.ends": Words("ends as it did: {line}, weights kept", "结尾与原来一致：{line}，权重已保存"),
}

WORDS: dict[str, Words] = {**_COMMON, **_ENV, **_RUNS, **_SCRIPT}
