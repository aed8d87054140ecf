"""Text logs: Megatron-LM's table lines, the Trainer's printed dicts, and lines that name a step and numbers."""

from __future__ import annotations

import re

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.curves.names import normalise_name
from ascend_workbook.precision.curves.readers.chinese import translate_line
from ascend_workbook.precision.curves.readers.feed import LineFeed
from ascend_workbook.precision.curves.readers.patterns import BAR, NUMBER, find_pairs, step_of
from ascend_workbook.precision.curves.series import Checkpoint, Curve

#: Characters of a line that are looked at.
WIDTH = 4096
#: Lines from which the number of printed digits is learnt.
LEARNT = 2000
#: Megatron-LM, training.py training_log(): `iteration 10/ 100 | ... | lm loss: 1.0E+00 | loss scale: 1.0 |`
MEGATRON = re.compile(r"\biteration\s+(\d{1,15})\s*/\s*\d+\s*$")
VALIDATION = re.compile(r"\b(validation|test) loss at iteration (\d{1,15})\b")
#: DeepSpeed and apex: `Attempted loss scale: 65536, reducing to 32768`, `reducing loss scale to 32768.0`
OVERFLOW = re.compile(r"reducing (?:loss scale )?to (" + NUMBER + ")")
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
        match = MEGATRON.search(head)
        prefix = ""
        if not match:
            match = VALIDATION.search(head)
            if not match:
                return False
            prefix = f"{match[1]}_"
        self._begin_step(int(match[2] if prefix else match[1]))
        for cell in cells:
            name, _, printed = cell.partition(":")
            key = normalise_name(name)
            if key and printed:
                try:
                    value = float(printed)
                except ValueError:
                    continue
                self.curve.add_value(
                    prefix + key.replace("_value", "") if prefix else key,
                    self._step,
                    value,
                    self.number,
                    printed.strip() if self.number < LEARNT else "",
                )
        return True

    def _read_generic(self, text: str) -> None:
        is_dict = text.lstrip().startswith("{")
        step, phase = (None, "") if is_dict else step_of(text)
        if step is None and is_dict:
            step = next((int(float(value)) for value in _find_named(text, "step")), self._bar)
        elif step is not None and (bar := BAR.search(text)):
            self._bar = int(bar[1])
        for name, printed in find_pairs(text, phase):
            if step is not None:
                self._begin_step(step)
                self._add_value(name, step, printed)
            else:
                count = self._counts[name] = self._counts.get(name, 0) + 1
                self._unnumbered.add_value(name, count, float(printed), self.number, printed)

    def _add_value(self, name: str, step: int, printed: str) -> None:
        try:
            value = float(printed)
        except ValueError:
            return
        self.curve.add_value(name, step, value, self.number, printed)

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


def _find_named(text: str, name: str) -> list[str]:
    return re.findall(rf"['\"]{name}['\"]\s?:\s?['\"]?(\d{{1,15}})", text)
