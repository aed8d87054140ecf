"""What launching a training script says."""

from __future__ import annotations

from helpers.words import Words

WORDS: dict[str, Words] = {
    "launch.one_target": Words(
        "Give either a script or a module to run, not both and not neither.",
        "请只给出脚本或模块其中之一，不能都给，也不能都不给。",
    ),
    "launch.script_missing": Words(
        "There is no script {path}.",
        "找不到脚本 {path}。",
        "Check the path; it is relative to the folder you are in.",
        "请检查路径；相对路径以当前目录为准。",
    ),
    "launch.cwd_missing": Words("There is no folder {path} to run in.", "找不到运行目录 {path}。"),
    "launch.python_missing": Words(
        "There is no Python interpreter {path}.",
        "找不到 Python 解释器 {path}。",
        "Give the path of the Python that has torch installed.",
        "请给出装有 torch 的 Python 的路径。",
    ),
    "launch.transform_unknown": Words(
        "Unknown transform {given}; known are {known}.", "未知的转换方式 {given}；可用的有 {known}。"
    ),
    "launch.baseline_tier": Words(
        "The CPU stands in for CUDA only on the tier cpu, not on {tier}.",
        "只有在 cpu 上才能由 CPU 代替 CUDA，{tier} 上不行。",
    ),
    "launch.not_positive": Words("{name} is {value}; it must be at least 1.", "{name} 为 {value}，至少应为 1。"),
    "launch.plugin_missing": Words("There is no plugin file {path}.", "找不到插件文件 {path}。"),
    "launch.bad_regex": Words(
        "The loss pattern {regex} cannot be used: {why}.",
        "loss 的匹配模式 {regex} 无法使用：{why}。",
        "Put the number in a group: loss[:=] *(?P<loss>[-+.\\deE]+)",
        "请把数值放进分组，例如：loss[:=] *(?P<loss>[-+.\\deE]+)",
    ),
    "launch.log_unreadable": Words(
        "The run log {path} cannot be read: {why}.",
        "运行记录 {path} 无法读取：{why}。",
        "Run the script again; a log cut short belongs to a run that was killed.",
        "请重新运行脚本；不完整的记录来自被中止的运行。",
    ),
    "launch.failed": Words(
        "The script failed after {steps} steps with exit code {code}: {error} {place}",
        "脚本在第 {steps} 步之后失败，退出码 {code}：{error} {place}",
        "The whole output is in output.log.",
        "完整输出见 output.log。",
    ),
    "launch.failed_known": Words(
        "The script failed after {steps} steps with exit code {code}: {error} {place}\n"
        "Cause: {cause}\nNext step: {fix}",
        "脚本在第 {steps} 步之后失败，退出码 {code}：{error} {place}\n原因：{cause}\n下一步：{fix}",
        "The whole output is in output.log.",
        "完整输出见 output.log。",
    ),
    "launch.killed": Words(
        "The script was killed by {signal} after {steps} steps.",
        "脚本在第 {steps} 步之后被信号 {signal} 终止。",
        "SIGKILL often means that memory ran out: try a smaller batch.",
        "SIGKILL 往往表示内存不足：请尝试更小的 batch。",
    ),
    "launch.timeout": Words(
        "The script did not end within {seconds} s; {steps} steps were done.",
        "脚本在 {seconds} 秒内没有结束，已完成 {steps} 步。",
        "Give it more time, or ask for fewer steps.",
        "请给更长的时间，或减少步数。",
    ),
    "launch.no_steps": Words(
        "The script ended without a single optimizer step.",
        "脚本结束时没有执行过任何一次 optimizer.step。",
        "A step is a torch.optim step that really happened: check the arguments, or give a loss pattern.",
        "一步是指真正执行了的 torch.optim 的 step：请检查参数，或给出 loss 的匹配模式。",
    ),
    "launch.no_match": Words(
        "The loss pattern {regex} matches nothing in the output.",
        "loss 的匹配模式 {regex} 在输出中没有匹配到任何内容。",
        "Look into output.log for how the script prints its loss.",
        "请在 output.log 中查看脚本如何打印 loss。",
    ),
    "launch.note.stop_ignored": Words(
        "The script caught the request to stop {times} times and was ended on the spot.",
        "脚本 {times} 次拦截了停止请求，已被立即结束。",
    ),
    "launch.note.grad_norm_failed": Words(
        "The gradient norm could not be measured: {error}", "无法测量梯度范数：{error}"
    ),
    "launch.note.memory_not_measured": Words(
        "{call} was answered with 0: memory is not measured where the CPU stands in for CUDA.",
        "{call} 返回了 0：由 CPU 代替 CUDA 时不测量显存。",
    ),
    "launch.note.compile_left_out": Words(
        "torch.compile was left out: the CPU standing in for CUDA runs eagerly.",
        "已略过 torch.compile：由 CPU 代替 CUDA 时以 eager 方式运行。",
    ),
    "launch.standing_in": Words("CPU standing in for CUDA", "由 CPU 代替 CUDA"),
}
