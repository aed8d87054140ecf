"""A final metric against its target: `val_loss<=2.9`, `accuracy>=0.76`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.curves.names import normalise_name
from ascend_workbook.precision.curves.series import Curve

SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Target:
    """`name` as the log writes it, one of SIGNS, and the value."""

    name: str
    sign: str
    value: float

    def is_met(self, value: float) -> bool:
        """NaN meets nothing."""
        return SIGNS[self.sign](value, self.value)

    @classmethod
    def parse_target(cls, text: str) -> Target:
        """Raises WorkbookError where it is not NAME, a sign and a number."""
        match = re.fullmatch(r"\s*([^<>=]+?)\s*(>=|<=|>|<)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*", text)
        try:
            return cls(match[1], match[2], float(match[3])) if match else _refuse_target(text)
        except ValueError:
            return _refuse_target(text)


def _refuse_target(text: str) -> Target:
    raise WorkbookError("curves.target", given=text, signs=list(SIGNS))


def final_value(curve: Curve, name: str) -> tuple[int, float, str, int] | None:
    """(step, value, file, line) of the last step that has it; None where the log never has."""
    series = curve.series.get(name) or curve.series.get(normalise_name(name))
    if series is None or not series.values:
        return None
    steps, places = series.last_of_each()
    at = int(places[-1])
    return int(steps[-1]), series.values[at], *curve.place_of_value(series, at)


def judge_targets(targets: Sequence[Target], baseline: Curve, target: Curve) -> list[Finding]:
    """One finding for each; a metric that is not in the target's log was not met, for all that is known."""
    findings = []
    for wanted in targets:
        reached, before = final_value(target, wanted.name), final_value(baseline, wanted.name)
        args: dict[str, Scalar] = {"name": wanted.name, "sign": wanted.sign, "wanted": wanted.value}
        if reached is None:
            args.update(path=target.display_name, known=sorted(target.series)[:12])
            findings.append(Finding("ACC255", Status.FAIL, "ACC255.absent", args, weight=140))
            continue
        step, value, path, line = reached
        args.update(value=value, step=step, baseline=before[1] if before else None)
        met = wanted.is_met(value)
        findings.append(
            Finding(
                "ACC255",
                Status.NOTE if met else Status.FAIL,
                f"ACC255.{'met' if met else 'missed'}",
                args,
                place=Place(path, line),
                weight=140 if not met else 0,
            )
        )
    return findings
