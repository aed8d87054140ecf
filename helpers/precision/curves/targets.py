"""A final metric against its target: `val_loss<=2.9`, `accuracy>=0.76`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.precision.curves.names import plain
from helpers.precision.curves.series import Curve
from helpers.words import Scalar

SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """`name` as the log writes it, one of SIGNS, and the value."""

    name: str
    sign: str
    value: float

    def met(self, value: float) -> bool:
        """NaN meets nothing."""
        return SIGNS[self.sign](value, self.value)

    @classmethod
    def parse(cls, text: str) -> Target:
        """Raises WorkbookError where it is not NAME, a sign and a number."""
        found = re.fullmatch(r"\s*([^<>=]+?)\s*(>=|<=|>|<)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*", text)
        try:
            return cls(found[1], found[2], float(found[3])) if found else _refuse(text)
        except ValueError:
            return _refuse(text)


def _refuse(text: str) -> Target:
    raise WorkbookError("curves.target", given=text, signs=list(SIGNS))


def final(curve: Curve, name: str) -> tuple[int, float, str, int] | None:
    """(step, value, file, line) of the last step that has it; None where the log never has."""
    series = curve.series.get(name) or curve.series.get(plain(name))
    if series is None or not series.values:
        return None
    steps, places = series.last_of_each()
    at = int(places[-1])
    return int(steps[-1]), series.values[at], *curve.place(series, at)


def judge_targets(targets: Sequence[Target], baseline: Curve, target: Curve) -> list[Finding]:
    """One finding for each; a metric that is not in the target's log was not met, for all that is known."""
    found = []
    for wanted in targets:
        reached, before = final(target, wanted.name), final(baseline, wanted.name)
        args: dict[str, Scalar] = {"name": wanted.name, "sign": wanted.sign, "wanted": wanted.value}
        if reached is None:
            args.update(path=target.shown, known=sorted(target.series)[:12])
            found.append(Finding("ACC255", Status.FAIL, "ACC255.absent", args, weight=140))
            continue
        step, value, path, line = reached
        args.update(value=value, step=step, baseline=before[1] if before else None)
        met = wanted.met(value)
        found.append(Finding("ACC255", Status.NOTE if met else Status.FAIL, f"ACC255.{'met' if met else 'missed'}",
                             args, place=Place(path, line), weight=140 if not met else 0))  # fmt: skip
    return found
