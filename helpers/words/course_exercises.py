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
    "course.no_file": Words("it is no plain file", "它不是普通文件"),
    "course.busy": Words(
        "the outcome was not kept: another process has held {path} for {seconds} s",
        "结果未保存：另一个进程占用 {path} 已有 {seconds} 秒",
        "Stop the other notebook's kernel, then run this cell again.",
        "请停止另一个笔记本的内核，再重新运行本单元格。",
    ),
    "course.no_locks": Words(
        "the file system of {path} has no locks: with two notebooks open at once an outcome can get lost",
        "{path} 所在的文件系统不支持文件锁：同时打开两个笔记本时，结果可能丢失",
        "Have one notebook of the course open at a time.",
        "请一次只打开一个课程笔记本。",
    ),
    "course.not_recorded": Words("the outcome was not kept in {path}: {why}", "结果未能写入 {path}：{why}"),
    "course.unsolved": Words("stubs and solutions do not agree: {tasks}", "练习单元与解答不对应：{tasks}"),
    "course.trouble.stub": Words("no answer yet: the TODO stands", "尚未作答：TODO 还在"),
    "course.trouble.none": Words("no answer yet: it is None", "尚未作答：答案为 None"),
    "course.trouble.raised": Words("the answer raised {error}", "答案抛出异常：{error}"),
    "course.trouble.slow": Words("the answer took longer than {seconds} s", "答案运行超过 {seconds} 秒"),
    "course.trouble.printed": Words(
        "the answer printed more than {characters} characters", "答案打印了超过 {characters} 个字符"
    ),
    "course.trouble.data": Words(
        "the answer cannot be judged: answer{where} is of type {given}; expected text, numbers, True or False, lists "
        "and dicts of them",
        "无法判断该答案：answer{where} 的类型是 {given}；应为文本、数字、True 或 False，或由它们组成的列表与字典",
    ),
    "course.trouble.key": Words(
        "the answer cannot be judged: a key in answer{where} is of type {given}; expected text",
        "无法判断该答案：answer{where} 中有一个键的类型是 {given}；应为文本",
    ),
    "course.trouble.finite": Words(
        "the answer cannot be judged: answer{where} is {given}; expected a finite number",
        "无法判断该答案：answer{where} 是 {given}；应为有限的数",
    ),
    "course.trouble.large": Words(
        "the answer is too large to be kept: at most {most} characters as JSON",
        "答案过大，无法保存：以 JSON 表示最多 {most} 个字符",
    ),
    "course.trouble.check": Words("the answer could not be judged: {error}", "无法判断该答案：{error}"),
}  # fmt: skip

_ENV = {
    "course.task.env": Words("A. The pair that belongs together", "A. 版本配对"),
    "course.hint.env": Words(
        "Both packages are there and do not belong together: which one stays, and which releases of the other name it?",
        "两个包都在，却不配套：该保留哪一个？另一个包的哪些版本与它对应？",
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
    "course.env.strange": Words(
        "character {at} of the command is {given} ({code}), which no shell takes for a plain one",
        "命令的第 {at} 个字符是 {given}（{code}），shell 不会把它当作普通字符",
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
        "答案既不是 `(旧, 新)` 文本对的列表，也不是脚本全文（现在的类型是 {given}）",
    ),
    "course.edit.pair": Words("pair {number} is not (old text, new text)", "第 {number} 对不是 `(旧文本, 新文本)`"),
    "course.edit.count": Words(
        "the old text of pair {number} occurs {count} times, not once: {old}",
        "第 {number} 对的旧文本出现 {count} 次，应恰好一次：{old}",
    ),
    "course.edit.unchanged": Words("no answer yet: the script is unchanged", "尚未作答：脚本没有改动"),
    "course.edit.other": Words(
        "this is no training script: it does not import torch", "这不是训练脚本：没有导入 torch"
    ),
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
        "`scan` still finds {count} open place(s); lines as counted in your changed script: {lines}",
        "`scan` 仍发现 {count} 处遗留问题；行号按你改后的脚本计：{lines}",
    ),
    "course.script.short": Words(
        "the card ran out of memory in step {step}, and the script did not get over it as it did before",
        "第 {step} 步显存不足，脚本没有像原来那样挺过去",
    ),
    "course.script.uncaught": Words(
        "in step {step} it ended with an error that this exercise raises on purpose:\n{error}\n"
        "The script is written to survive such an error, but did not catch this one: hold its message against what the "
        "script waits for.",
        "第 {step} 步因本练习特意安排的错误而结束：\n{error}\n"
        "脚本本来能挺过这类错误，但没有捕获这一个：请将错误信息与脚本所等待的内容对照。",
    ),
    "course.script.printed": Words(
        "the last line printed is {printed}, not {wanted}", "最后打印的是 {printed}，应为 {wanted}"
    ),
    "course.script.not_kept": Words(
        "the weights are not kept in {name} as they were", "权重没有像原来那样存入 {name}"
    ),
    "course.script.ends": Words("ends as it did: {line}, weights kept", "结尾与原来一致：{line}，权重已保存"),
}

_FAULT = {
    "course.task.fault": Words("C. Who parts first?", "C. 谁最先分开？"),
    "course.hint.fault": Words(
        "The losses alone do not tell. Which verb holds the tensors of both captures against each other, rank by rank?",
        "只看损失看不出来。哪个命令会逐 rank 比较两次采集的张量？",
        "The first that is off is the culprit, not the one that is off the most. Captured steps count from 0, the "
        "answer's from 1.",
        "最先出错的才是原因，而不是误差最大的那个。采集的步从 0 数起，答案从 1 数起。",
    ),
    "course.fault.fields": Words(
        "the answer is not a dict with {fields} (it is of type {given})",
        "答案应为含 {fields} 的字典（现在的类型是 {given}）",
    ),
    "course.fault.number": Words("{field} is no whole number: {given}", "{field} 不是整数：{given}"),
    "course.fault.operator": Words(
        "not one operator of this network: {given}", "不是这个网络中的（一个）算子：{given}"
    ),
    "course.fault.found": Words(
        "{operator} in step {step} on rank {rank}: that was it",
        "rank {rank} 第 {step} 步的 {operator}：正是它",
    ),
    "course.fault.count": Words("{count} of operator, step and rank are right", "算子、步、rank 中有 {count} 项正确"),
}

_LOOP = {
    "course.task.loop": Words("D. A slow loop", "D. 慢循环"),
    "course.hint.loop": Words(
        "Measure before you change: in which of the loop's lines does the time go, and on which side, host or device?",
        "先测量，再修改：时间花在循环的哪几行？在主机还是在设备上？",
        "What does looking up one word in a list cost, and how often is it done in a step?",
        "在列表中查找一个词要花多少时间？每一步要查多少次？",
    ),
    "course.loop.fast": Words(
        "CPU time: {ratio} times as fast (median of {count} turns, {low} to {high})",
        "CPU 时间：速度是原来的 {ratio} 倍（{count} 轮的中位数，范围 {low} 至 {high}）",
    ),
    "course.loop.slow": Words(
        "CPU time: {ratio} times as fast (median of {count} turns, {low} to {high}); {needed} is asked",
        "CPU 时间：速度是原来的 {ratio} 倍（{count} 轮的中位数，范围 {low} 至 {high}），要求 {needed} 倍",
    ),
    "course.loop.printed": Words("all {lines} lines are still printed", "{lines} 行输出都还在"),
    "course.loop.not_printed": Words(
        "the {lines} lines that are printed, gradients and best weights among them, are not the same any more",
        "原有的 {lines} 行输出（包括梯度和最佳权重）不再相同",
    ),
}

_RANKS = {
    "course.task.ranks": Words("E. Two ranks that do not train together", "E. 两个 rank 各行其是"),
    "course.hint.ranks": Words(
        "One trouble hides the next: first where the ranks meet, then which backend carries NPU tensors, then what "
        "each rank is given to train.",
        "问题一个藏着一个：先看各 rank 在哪里会合，再看哪个后端能传 NPU 张量，最后看每个 rank 拿到了什么数据。",
        "torchrun tells where to meet. A collective that one rank alone calls waits for ever. Equal data needs an "
        "equal seed, and a sampler that shares it out.",
        "会合地点由 torchrun 给出。只有一个 rank 调用的集合通信会永远等待。数据相同需要种子相同，"
        "再由采样器分给各 rank。",
    ),
    "course.ranks.port": Words(
        "the script meets at a port of its own: on a server that many share it will be taken",
        "脚本使用写死的端口：多人共用的服务器上它会被占用",
    ),
    "course.ranks.count": Words(
        "{count} rank(s) trained, not {wanted}", "有 {count} 个 rank 参加训练，应为 {wanted} 个"
    ),
    "course.ranks.own_samples": Words("each rank trains samples of its own", "每个 rank 训练各自的样本"),
    "course.ranks.same_samples": Words("both ranks train the same samples", "两个 rank 训练的是同样的样本"),
    "course.ranks.agree": Words("both ranks have the same gradients", "两个 rank 的梯度相同"),
    "course.ranks.disagree": Words("the ranks' gradients differ", "两个 rank 的梯度不同"),
    "course.ranks.as_one": Words(
        "in all {steps} steps the two train together what one card trains",
        "全部 {steps} 步中，两个 rank 合起来训练的正是单卡所训练的",
    ),
    "course.ranks.not_as_one": Words(
        "the two together do not train what one card trains: {why}", "两个 rank 合起来与单卡训练的不同：{why}"
    ),
}

_HALF = {
    "course.task.half": Words("F. NaN in float16", "F. float16 中的 NaN"),
    "course.hint.half": Words(
        "What is the smallest number that float16 can hold? Compare it with the optimizer's eps and the gradients.",
        "float16 能表示的最小正数是多少？与优化器的 eps 和梯度比较一下。",
        "Three parts belong together: weights kept in float32, computing under autocast, and a scaled loss.",
        "三件事缺一不可：权重保持 float32，计算放在 autocast 中，损失要缩放。",
    ),
    "course.half.nan": Words(
        "{count} of the losses are no numbers, from step {step} on", "有 {count} 个损失不是有限数，从第 {step} 步开始"
    ),
    "course.half.start": Words("it begins with float32's loss", "起始损失与 float32 相同"),
    "course.half.other_start": Words(
        "with another seed it begins with another loss than float32", "换一个种子后，起始损失与 float32 不同"
    ),
    "course.half.learns": Words(
        "it learns: {share} % of the way that float32 goes", "在学习：达到 float32 下降幅度的 {share} %"
    ),
    "course.half.learns_not": Words(
        "it does not learn as float32 does: {share} % of its way",
        "没有像 float32 那样学习：只达到其下降幅度的 {share} %"
    ),
    "course.half.fast": Words("the linear layers compute in float16", "线性层以 float16 计算"),
    "course.half.not_fast": Words("the linear layers compute in {formats}", "线性层以 {formats} 计算"),
    "course.half.kept": Words("the weights are kept in float32", "权重以 float32 保存"),
    "course.half.not_kept": Words("the weights are kept in {formats}", "权重以 {formats} 保存"),
}

WORDS: dict[str, Words] = {**_COMMON, **_ENV, **_RUNS, **_SCRIPT, **_FAULT, **_LOOP, **_RANKS,
                           **_HALF}  # fmt: skip
