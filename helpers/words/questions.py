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

WORDS: dict[str, Words] = {
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
