"""Words of the questions that precision alignment answers, and of --fail-on."""

from helpers.words import Words

_QUESTIONS = {
    "experiment": ("same experiment?", "是同一个实验吗？"),
    "device": ("did an NPU take part?", "NPU 是否参与？"),
    "incomplete": ("is everything there, and was it looked at?", "数据是否完整、是否都已检查？"),
    "divergence": ("do both agree?", "两侧是否一致？"),
    "nan": ("NaN or infinity?", "是否有 NaN 或无穷？"),
    "unpaired": ("has every operator a partner?", "每个算子是否都有配对？"),
    "dtype": ("same data types?", "数据类型是否相同？"),
    "spike": ("spikes?", "是否有尖峰？"),
    "scale": ("is the loss scale sound?", "损失缩放是否正常？"),
    "metric": ("are the target metrics reached?", "是否达到目标指标？"),
    "other": ("remarks and advice", "说明与建议"),
}

_HEADINGS = {
    "experiment": ("Same experiment?", "是同一个实验吗？"),
    "divergence": ("Which operator parts the runs first?", "哪个算子最先使两侧分开？"),
    "unpaired": ("Operators of one side only", "仅一侧有的算子"),
    "next": ("What to do next", "下一步做什么"),
    "only_side": ("Only in", "仅"),
    "api": ("API or module", "API 或模块"),
    "likely": ("Likely reason", "可能的原因"),
    "first": ("First call", "首次调用"),
    "next_step": ("Next step", "下一步"),
    "what": ("What", "内容"),
    "tolerances": ("What the answer would be under another tolerance", "换用其他容差时的结论"),
    "factor": ("Tolerance times", "容差倍数"),
    "operators_out": ("Operators out", "超出的算子数"),
    "layers": ("Report by layer", "逐层报告"),
    "platform": ("Platform analysis", "平台分析"),
    "fixed_limits": ("Fixed limits beside the judgement", "固定阈值与本工具判定的对照"),
    "by_cosine": ("Cosine >= 0.99", "余弦 ≥ 0.99"),
    "beyond": ("Elements beyond", "超出元素占比"),
    "by_elements": ("Every element", "逐元素"),
    "by_noise": ("Judgement", "本工具判定"),
    "max_diff": ("Greatest difference", "最大差"),
    "mean_diff": ("Mean difference (root mean square)", "平均差（均方根）"),
    "same": ("Same?", "是否相同"),
}
_PLATFORM = {
    "tier": ("device tier", "设备类别"),
    "device": ("device", "设备"),
    "simulated": ("simulated", "是否模拟"),
    "numerics": ("numerics of the simulated NPU", "模拟 NPU 的数值方式"),
    "conv": ("reduced format of convolutions", "卷积的低精度格式"),
    "matmul": ("reduced format of matrix products", "矩阵乘的低精度格式"),
    "faults": ("faults injected on purpose", "有意注入的故障"),
    "torch": ("torch", "torch"),
    "torch_npu": ("torch_npu", "torch_npu"),
    "cann": ("CANN", "CANN"),
    "python": ("Python", "Python"),
    "script": ("script", "脚本"),
    "args": ("arguments", "参数"),
    "seed": ("seed", "随机种子"),
    "steps": ("steps", "步数"),
    "level": ("level of capture", "采集级别"),
    "task": ("kind of capture", "采集内容"),
    "nproc": ("processes", "进程数"),
    "same": ("same", "相同"),
    "differs": ("differs", "不同"),
    "must": ("differs, as it must", "不同（设备不同所致）"),
    "build": ("the same release, another build", "版本相同，构建不同"),
    "folders": ("same but for the folders", "相同（仅目录不同）"),
    "allowed": ("differs, and the tolerances allow for it", "不同（容差已计入）"),
    "idle": ("without effect: the CPU's kernels computed", "无影响（由 CPU 内核计算）"),
}

WORDS: dict[str, Words] = {
    **{f"name.{name}": Words(en, zh) for name, (en, zh) in _HEADINGS.items()},
    **{f"platform.{name}": Words(en, zh) for name, (en, zh) in _PLATFORM.items()},
    "ACC205.same": Words(
        "the same experiment by all that was recorded: no option, seed, initial weight or batch differs",
        "就所记录的内容而言是同一个实验：选项、随机种子、初始权重与批次数据均无差异",
    ),
    "ACC205.beside": Words(
        "the same experiment by all that was recorded: no option, seed, initial weight or batch differs; beside them"
        " differ: {what}",
        "就所记录的内容而言是同一个实验：选项、随机种子、初始权重与批次数据均无差异；此外有不同：{what}",
    ),
    "ACC210.all": Words("every operator has a partner on the other side", "每个算子在另一侧都有配对"),
    "factor.none": Words(
        "tolerance times {factor}: none of {of} operators is out", "容差乘以 {factor}：{of} 个算子均未超出"
    ),
    "factor.out": Words(
        "tolerance times {factor}: {count} of {of} operators are out, first {first} (step {step}, rank {rank})",
        "容差乘以 {factor}：{of} 个算子中有 {count} 个超出，最先为 {first}（第 {step} 步，rank {rank}）",
    ),
    "factor.nothing": Words("no operator was judged", "没有算子被判定"),
    "layer.passed": Words("pass", "通过"),
    "layer.failed": Words("FAIL", "不通过"),
    "layer.unseen": Words("not compared", "未比对"),
    "ACC293.layers": Words(
        "{passed} layers pass, {failed} fail, {unseen} were not compared; the first that fails: {first}",
        "{passed} 层通过，{failed} 层不通过，{unseen} 层未比对；最先不通过的是：{first}",
    ),
    "ACC293.platform": Words("{target} against the baseline on {baseline}", "{target} 对照基线 {baseline}"),
    "ACC293.no_platform": Words(
        "what the two sides ran on was not recorded (plain dumps)", "两侧的运行平台没有记录（普通 dump）"
    ),
    "ACC294.counts": Words(
        "of {of} outputs the cosine rejects {cosine}, limits per element {elements}, the judgement {noise}",
        "{of} 个输出中，余弦阈值拒绝 {cosine} 个，逐元素阈值拒绝 {elements} 个，本工具判定 {noise} 个不通过",
    ),
    "ACC294.nothing": Words("no output was saved on both sides", "没有两侧都保存了数值的输出"),
    "ACC291.first": Words("{count} step(s) to take; first: {first}", "有 {count} 项建议，首先：{first}"),
    "ACC291.profile": Words(
        "nothing is left to do here: go on to profiling, or capture later steps",
        "此处无需处理：可进入性能分析，或采集更靠后的步",
    ),
    **{f"question.{name}": Words(en, zh) for name, (en, zh) in _QUESTIONS.items()},
    "chart.thinned": Words(" (each point: the worst of {count})", "（每点为 {count} 个中最差者）"),
    "chart.first": Words("first divergence: {operator}", "最先分开：{operator}"),
    "case.parted": Words(
        "{count} of {of} outputs part the runs, first {first}", "{of} 个输出中有 {count} 个使两侧分开，最先为 {first}"
    ),
    "case.not_judged": Words(
        "not judged: the runs are not the same experiment", "未作判定：两次运行不是同一个实验"
    ),
    "case.not_compared": Words("none of {count} outputs was compared", "{count} 个输出均未比对"),
    "case.line": Words(
        "{operator}: {judgement}; output error {error}, allowed {allowed}",
        "{operator}：{judgement}；输出误差 {error}，允许 {allowed}",
    ),
    "ACC290.gate": Words(
        "--fail-on {name}: {count} finding(s) keep this question from being passed: {kind} {first}",
        "--fail-on {name}：有 {count} 个发现使该问题未通过：{kind}{first}",
    ),
}
