"""Text logs: Megatron-LM's table lines, the Trainer's printed dicts, and lines that name a step and numbers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.curves.readers.feed import LineFeed
from ascend_workbook.precision.curves.series import Checkpoint, Curve, normalise_name

# Chinese log lines in the words that the patterns know: 步, 轮, 损失, 学习率 and the like, with full-width marks.

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
        text = pattern.sub(lambda match: f" {_SIDES.get(match[1], '')}{name} ", text)  # noqa: B023 - used at once
    return text


# Where a log line says its step and its numbers: nanoGPT's, mmengine's, Lightning's, and what examples print.

# Every pattern is linear in the length of a line, which is text of somebody else.
NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)\b"
#: `step 10`, `iter 10:`, `Iter(train) [ 10/100]`, `global_step=10`, `step: 10/100`
STEP = re.compile(
    r"\b(?:global[_ ]?step|iteration|steps?|iter|update)"
    r"(?:\((\w+)\))?['\"]?[\s:=#]{0,3}\[?\s{0,8}(\d{1,15})(?![\d.])",
    re.I,
)
#: `Epoch: [0][ 10/500]`, `Epoch(train) [1][10/500]`, `Epoch 0:  50%|███  | 32/64`, `Train Epoch: 1 [640/60000 (1%)]`
EPOCH = re.compile(r"\bepoch(?:\((\w+)\))?[\s:=#]{0,3}\[?\s{0,6}(\d{1,12})(?!\d)(?:\s?/\s?\d{1,9})?\]?", re.I)
WITHIN = re.compile(r"(?<![\d.])(\d{1,12})\s?/\s?(\d{1,12})(?!\d)")
#: A progress bar: `10%|█   | 10/100 [00:01<00:09`, and `10it [00:01` where its end is not known
BAR = re.compile(r"(?:\|\s{0,8}(?=\d{1,12}/\d{1,12} \[)|(?<![\w./])(?=\d{1,12}it \[))(\d{1,12})")
PAIR = re.compile(r"([A-Za-z_][\w./@-]{0,60})['\"]?\s{0,3}([:=]?)\s{0,8}['\"]?(" + NUMBER + r")(?![\w/%]|\.\d)")
#: A name that may stand before its number without `:` or `=`.
BARE = re.compile(r"loss|^lr$|acc|norm|scale|ppl|perplexity|top\d|iou|^map|f1|bleu|learning_rate", re.I)
PHASES = {"train": "", "training": "", **dict.fromkeys(("val", "valid", "validation"), "val_")}
PHASES.update(eval="eval_", test="test_")


def step_of(text: str) -> tuple[int | None, str]:
    """(step, phase in brackets) that a line names. Epochs with a place within them become steps over all epochs."""
    if "poch" in text or "POCH" in text:
        epoch = EPOCH.search(text)
        if epoch and PHASES.get((epoch[1] or "").lower()):  # a validation belongs to its epoch
            return int(epoch[2]), epoch[1].lower()
        if epoch:
            within = WITHIN.search(text, epoch.end(), epoch.end() + 120)
            if within:
                return int(epoch[2]) * int(within[2]) + int(within[1]), (epoch[1] or "").lower()
    step = STEP.search(text)
    if step:
        return int(step[2]), (step[1] or "").lower()
    bar = BAR.search(text)
    if bar:
        return int(bar[1]), ""
    epoch = EPOCH.search(text) if "poch" in text else None
    return (int(epoch[2]), (epoch[1] or "").lower()) if epoch else (None, "")


def find_pairs(text: str, phase: str = "") -> Iterator[tuple[str, str]]:
    """(name, printed number) of every number that a line names. `val loss 3.1` is val_loss; `train loss` beside it is
    train_loss."""
    for match in PAIR.finditer(text):
        name = normalise_name(match[1])
        if not name or not (match[2] or BARE.search(name)):
            continue
        before = text[max(0, match.start() - 16) : match.start()].rstrip(" ").rpartition(" ")[2].lower()
        if before.strip("(,;|[") in PHASES and "_" not in name:
            name = f"{before.strip('(,;|[')}_{name}"
        yield PHASES.get(phase, "") + name, match[3]


#: Characters of a line that are looked at.
WIDTH = 4096
#: Lines from which the number of printed digits is learnt.
LEARNT = 2000
#: Megatron-LM, training.py training_log(): `iteration 10/ 100 | ... | lm loss: 1.0E+00 | loss scale: 1.0 |`
MEGATRON = re.compile(r"\biteration\s+(\d{1,15})\s*/\s*\d+\s*$")
VALIDATION = re.compile(r"\b(validation|test) loss at iteration (\d{1,15})\b")
#: DeepSpeed and apex: `Attempted loss scale: 65536, reducing to 32768`, `reducing loss scale to 32768.0`
OVERFLOW = re.compile(r"reducing (?:loss scale )?to (" + NUMBER + ")")
HEADING, ROW = re.compile(r"\s*Epoch\s.{0,200}_loss\b"), re.compile(r"\s*(\d{1,9})/\d{1,9}\s+\S")
SAVED = re.compile(r"\bsav(?:ed|ing)\b[^\n]{0,200}?\b(?:checkpoint|ckpt|model)", re.I)
SAVED_AT = re.compile(r"(?:iteration|checkpoint-|step[= _]?|iter[= _]?)\s{0,8}(\d{1,15})|\bat (\d{1,15}) iter", re.I)


class TextFeed(LineFeed):
    """A log of lines. `pattern` has named groups: `step` and one for each number, in place of what is known."""

    def __init__(self, curve: Curve, path: str, pattern: str = "") -> None:
        super().__init__(curve, path)
        self._pattern = compile_pattern(pattern) if pattern else None
        self._step = 0
        self._bar: int | None = None
        self._unnumbered = Curve(curve.path, curve.kind, curve.files, ordinal=True)
        self._counts: dict[str, int] = {}
        self._fallen: list[tuple[float, int]] = []
        self._heads: list[str] = []

    def read_line(self, text: str, last: bool) -> None:
        before = self.curve.values + self._unnumbered.values
        if self._pattern:
            self._read_by_pattern(self._pattern, text[:WIDTH])
        else:
            self._read_known_line(translate_line(text[:WIDTH]))
        if self.curve.values + self._unnumbered.values == before:
            self.curve.not_understood(self.number, text)

    def _read_known_line(self, text: str) -> None:
        if "|" in text and "iteration" in text and self._read_megatron(text):
            return
        if self._read_row(text):
            return
        if "sav" in text or "Sav" in text:
            self._note_checkpoint(text)
        if "reducing" in text and (match := OVERFLOW.search(text)):
            self._fallen.append((float(match[1]), self.number))
            self.curve.skipped += 1
            return
        if ":" in text or "=" in text or "oss" in text or "OSS" in text:
            self._read_generic(text)
        elif "[" in text and (bar := BAR.search(text)):
            self._bar = int(bar[1])

    def _begin_step(self, step: int) -> None:
        """A line of this step. A scale that fell is told within the update, before the step's own line, whose number is
        the later word: where a log prints no scale, it stands with the step that was left out."""
        self._step = step
        for value, number in self._fallen:
            self.curve.add_value("loss_scale", step, value, number)
        self._fallen = []

    def end(self) -> None:
        super().end()
        self._begin_step(self._step)
        if not any(series.values for series in self.curve.series.values()) and self._unnumbered.series:
            self.curve.series.update(self._unnumbered.series)
            self.curve.values, self.curve.ordinal = self._unnumbered.values, True

    def _read_megatron(self, text: str) -> bool:
        head, *cells = text.split("|")
        prefix = ""
        if match := MEGATRON.search(head):
            self._begin_step(int(match[1]))
        elif match := VALIDATION.search(head):
            prefix = f"{match[1]}_"
            self._begin_step(int(match[2]))
        else:
            return False
        for cell in cells:
            name, _, printed = cell.partition(":")
            key = normalise_name(name)
            key = prefix + key.replace("_value", "") if prefix and key else key
            if key and printed:
                self._add_value(key, self._step, printed.strip(), self.number < LEARNT)
        return True

    def _read_row(self, text: str) -> bool:
        """Read a row of Ultralytics' table: a heading `Epoch GPU_mem box_loss ...`, then `1/9 2.5G 1.2 ... 100%|`."""
        cells = text.split()
        if HEADING.match(text) and not any(map(str.isdigit, text)):
            self._heads = cells
            return True
        if not self._heads or not (match := ROW.match(text)):
            return False
        cells = text.partition(":")[0].split()
        if len(cells) != len(self._heads):
            return False
        if "%|" not in text or "100%|" in text:  # its last state counts
            self._begin_step(int(match[1]))
            for name, printed in zip(self._heads, cells):
                if name.endswith("loss"):
                    self._add_value(normalise_name(name), self._step, printed)
        return True

    def _read_generic(self, text: str) -> None:
        is_dict = text.lstrip().startswith("{")
        step, phase = (None, "") if is_dict else step_of(text)
        if step is None and is_dict:
            match = re.search(r"['\"]step['\"]\s?:\s?['\"]?(\d{1,15})", text)
            step = int(match[1]) if match else self._bar
        elif step is not None and (bar := BAR.search(text)):
            self._bar = int(bar[1])
        for name, printed in find_pairs(text, phase):
            if step is not None:
                self._begin_step(step)
                self._add_value(name, step, printed)
            else:
                count = self._counts[name] = self._counts.get(name, 0) + 1
                self._unnumbered.add_value(name, count, float(printed), self.number, printed)

    def _add_value(self, name: str, step: int, printed: str, learn: bool = True) -> None:
        with contextlib.suppress(ValueError):
            self.curve.add_value(name, step, float(printed), self.number, printed if learn else "")

    def _note_checkpoint(self, text: str) -> None:
        if SAVED.search(text):
            match = SAVED_AT.search(text)
            step = int(match[1] or match[2]) if match else self._step
            self.curve.checkpoints.append(Checkpoint(step, f"{self.path}:{self.number}"))

    def _read_by_pattern(self, pattern: re.Pattern[str], text: str) -> None:
        match = pattern.search(text)
        if not match:
            return
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        try:
            step = int(float(groups.pop("step")))
        except (ValueError, KeyError, OverflowError):
            return
        self._begin_step(step)
        for name, printed in groups.items():
            self._add_value(name.lower(), step, printed)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Raises WorkbookError where it is no pattern, or has no group `step` and no other."""
    try:
        regex = re.compile(pattern)
    except re.error as error:
        raise WorkbookError("curves.pattern", pattern=pattern, error=str(error)) from error
    if "step" not in regex.groupindex or len(regex.groupindex) < 2:
        raise WorkbookError("curves.pattern_groups", pattern=pattern)
    return regex
