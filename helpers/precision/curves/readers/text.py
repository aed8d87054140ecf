"""Text logs: Megatron-LM's table lines, the Trainer's printed dicts, and lines that name a step and numbers."""

from __future__ import annotations

import re

from helpers.errors import WorkbookError
from helpers.precision.curves.names import plain
from helpers.precision.curves.readers.chinese import latin
from helpers.precision.curves.readers.feed import LineFeed
from helpers.precision.curves.readers.patterns import BAR, NUMBER, pairs, step_of
from helpers.precision.curves.series import Checkpoint, Curve

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
        self._pattern = compiled(pattern) if pattern else None
        self._step = 0
        self._bar: int | None = None
        self._unnumbered = Curve(curve.path, curve.kind, curve.files, ordinal=True)
        self._counts: dict[str, int] = {}
        self._fallen: list[tuple[float, int]] = []

    def line(self, text: str, last: bool) -> None:
        before = self.curve.values + self._unnumbered.values
        if self._pattern:
            self._by_pattern(self._pattern, text[:WIDTH])
        else:
            self._known(latin(text[:WIDTH]))
        if self.curve.values + self._unnumbered.values == before:
            self.curve.not_understood(self.number, text)

    def _known(self, text: str) -> None:
        if "|" in text and "iteration" in text and self._megatron(text):
            return
        if "sav" in text or "Sav" in text:
            self._saved(text)
        if "reducing" in text and (found := OVERFLOW.search(text)):
            self._fallen.append((float(found[1]), self.number))
            self.curve.skipped += 1
            return
        if ":" in text or "=" in text or "oss" in text or "OSS" in text:
            self._generic(text)
        elif "[" in text and (bar := BAR.search(text)):
            self._bar = int(bar[1])

    def _begun(self, step: int) -> None:
        """A line of this step. A scale that fell is told within the update, before the step's own line, whose number is
        the later word: where a log prints no scale, it stands with the step that was left out."""
        self._step = step
        for value, number in self._fallen:
            self.curve.add("loss_scale", step, value, number)
        self._fallen = []

    def end(self) -> None:
        super().end()
        self._begun(self._step)
        if not any(series.values for series in self.curve.series.values()) and self._unnumbered.series:
            self.curve.series.update(self._unnumbered.series)
            self.curve.values, self.curve.ordinal = self._unnumbered.values, True

    def _megatron(self, text: str) -> bool:
        head, *cells = text.split("|")
        found = MEGATRON.search(head)
        prefix = ""
        if not found:
            found = VALIDATION.search(head)
            if not found:
                return False
            prefix = f"{found[1]}_"
        self._begun(int(found[2] if prefix else found[1]))
        for cell in cells:
            name, _, printed = cell.partition(":")
            key = plain(name)
            if key and printed:
                try:
                    value = float(printed)
                except ValueError:
                    continue
                self.curve.add(prefix + key.replace("_value", "") if prefix else key, self._step, value, self.number,
                               printed.strip() if self.number < LEARNT else "")  # fmt: skip
        return True

    def _generic(self, text: str) -> None:
        is_dict = text.lstrip().startswith("{")
        step, phase = (None, "") if is_dict else step_of(text)
        if step is None and is_dict:
            step = next((int(float(value)) for value in _named(text, "step")), self._bar)
        elif step is not None and (bar := BAR.search(text)):
            self._bar = int(bar[1])
        for name, printed in pairs(text, phase):
            if step is not None:
                self._begun(step)
                self._add(name, step, printed)
            else:
                count = self._counts[name] = self._counts.get(name, 0) + 1
                self._unnumbered.add(name, count, float(printed), self.number, printed)

    def _add(self, name: str, step: int, printed: str) -> None:
        try:
            value = float(printed)
        except ValueError:
            return
        self.curve.add(name, step, value, self.number, printed)

    def _saved(self, text: str) -> None:
        if SAVED.search(text):
            found = SAVED_AT.search(text)
            step = int(found[1] or found[2]) if found else self._step
            self.curve.checkpoints.append(Checkpoint(step, f"{self.path}:{self.number}"))

    def _by_pattern(self, pattern: re.Pattern[str], text: str) -> None:
        found = pattern.search(text)
        if not found:
            return
        groups = {name: value for name, value in found.groupdict().items() if value is not None}
        try:
            step = int(float(groups.pop("step")))
        except (ValueError, KeyError, OverflowError):
            return
        self._begun(step)
        for name, printed in groups.items():
            self._add(name.lower(), step, printed)


def compiled(pattern: str) -> re.Pattern[str]:
    """Raises WorkbookError where it is no pattern, or has no group `step` and no other."""
    try:
        made = re.compile(pattern)
    except re.error as error:
        raise WorkbookError("curves.pattern", pattern=pattern, error=str(error)) from error
    if "step" not in made.groupindex or len(made.groupindex) < 2:
        raise WorkbookError("curves.pattern_groups", pattern=pattern)
    return made


def _named(text: str, name: str) -> list[str]:
    return re.findall(rf"['\"]{name}['\"]\s?:\s?['\"]?(\d{{1,15}})", text)
