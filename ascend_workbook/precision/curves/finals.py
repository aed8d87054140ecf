"""Metrics that both logs have beside the loss: their last values, and those that end apart."""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.curves import series as curve_series
from ascend_workbook.precision.curves.aligned import align_series
from ascend_workbook.precision.curves.series import (
    GRAD_NORM,
    LOSS,
    LOSS_SCALE,
    LR,
    PARAMETER,
    SKIPPED_STEPS,
    Curve,
    to_scalar,
)

# A final metric against its target: `val_loss<=2.9`, `accuracy>=0.76`.

SIGNS: dict[str, Callable[[float, float], bool]]
SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Target:
    """`name` as the log writes it, one of SIGNS, and the value."""

    name: str
    sign: str
    value: float

    @classmethod
    def parse_target(cls, text: str) -> Target:
        """Raises WorkbookError where it is not NAME, a sign and a number."""
        match = re.fullmatch(r"\s*([^<>=]+?)\s*(>=|<=|>|<)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*", text)
        if match:
            with contextlib.suppress(ValueError):  # 1.2.3
                return cls(match[1], match[2], float(match[3]))
        raise WorkbookError("curves.target", given=text, signs=list(SIGNS))


def final_value(curve: Curve, name: str) -> tuple[int, float, str, int] | None:
    """(step, value, file, line) of the last step that has it; None where the log never has."""
    series = curve.series.get(name) or curve.series.get(curve_series.normalise_name(name))
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
            findings.append(Finding("ACC255", Status.FIX, "ACC255.absent", args, weight=140))
            continue
        step, value, path, line = reached
        args.update(value=value, step=step, baseline=before[1] if before else None)
        met = SIGNS[wanted.sign](value, wanted.value)  # NaN meets nothing
        key, status, weight = ("met", Status.NOTE, 0) if met else ("missed", Status.FIX, 140)
        findings.append(Finding("ACC255", status, f"ACC255.{key}", args, place=Place(path, line), weight=weight))
    return findings


#: Judged for themselves, or no measure of how well a run learns.
OTHERS = {LOSS, LR, GRAD_NORM, LOSS_SCALE, f"{LOSS}*", *SKIPPED_STEPS}
#: Metrics told with their values; the rest is counted, and all are in the facts.
METRICS_TOLD = 8


def judge_finals(left: Curve, right: Curve, shift: int, tolerance: float) -> list[Finding]:
    """ACC255: the values at the last step that both have; apart where they differ by more than `tolerance` (relative)
    beyond what the printed digits leave open."""
    apart: list[Scalar] = []
    near: list[Scalar] = []
    for name in sorted(left.series.keys() & right.series.keys() - OTHERS):
        if name.startswith(PARAMETER):
            continue
        pair = align_series(left.series[name], right.series[name], shift)
        if len(pair.steps):
            ends = {"baseline": to_scalar(pair.baseline[-1]), "target": to_scalar(pair.target[-1])}
            sentence: Scalar = Sentence("curves.final", name=name, **ends, step=int(pair.steps[-1]))
            (apart if pair.excess[-1] > tolerance else near).append(sentence)
    findings = []
    for key, status, some in (("differs", Status.LOOK, apart), ("finals", Status.NOTE, near)):
        if some:
            args: dict[str, Scalar] = {"count": len(some), "metrics": some[:METRICS_TOLD], "tolerance": tolerance}
            findings.append(Finding("ACC255", status, f"ACC255.{key}", args, weight=45 if apart else 0))
    return findings
