"""Chinese log lines in the words that the patterns know: 步, 轮, 损失, 学习率 and the like, with full-width marks."""

from __future__ import annotations

import re
from functools import partial

#: Full-width digits, letters and marks (U+FF01..FF5E) become their ASCII fellows, the other marks by hand.
_MARKS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | str.maketrans("【】、。\u3000", "[],; ")
_SIDE = r"(训练|验证|评估|测试|平均)?(?:集)?(?:上?的)?"
_SIDES = {"训练": "train_", "验证": "val_", "评估": "eval_", "测试": "test_", "平均": "mean_"}
_IS = r"(?:函数)?(?:值)?(?:\s{0,4}[为是])?"
_TH = r"第\s{0,4}(\d{1,15})(?:\s{0,2}/\s{0,2}\d{1,15})?\s{0,4}(?:个|次)?"
#: 每步, 总步数, 同步 and 步长 name no step.
_ALONE = r"(?<![每总余大共同异逐初一])"
_WORDS = (
    (re.compile(_TH + r"(?:训练)?(?:步|迭代)"), r" step \1 "),
    (re.compile(_TH + r"(?:训练)?(?:轮次?|周期)"), r" epoch \1 "),
    (re.compile(_ALONE + r"(?:步(?:数|骤|号)?|迭代(?:次数|步数?)?)(?![长幅/])"), " step "),
    (re.compile(_ALONE + r"轮(?:次|数)?"), " epoch "),
    (re.compile(r"学习率" + _IS), " lr "),
    (re.compile(r"梯度(?:的)?范数" + _IS), " grad_norm "),
    (re.compile(r"损失缩放(?:系数|因子)?" + _IS), " loss_scale "),
)
_METRICS = {
    "loss": re.compile(_SIDE + "损失" + _IS),
    "accuracy": re.compile(_SIDE + "(?:准确率|正确率|(?<!混合)精度)" + _IS),
}


def translate_line(text: str) -> str:
    """The line, or the heading of a column, with these words and marks replaced; other text stays as it is."""
    if text.isascii():
        return text
    text = text.translate(_MARKS)
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    for name, pattern in _METRICS.items():
        text = pattern.sub(partial(_replace_metric, name), text)
    return text


def _replace_metric(name: str, match: re.Match[str]) -> str:
    return f" {_SIDES.get(match[1], '')}{name} "
