"""Metrics that both logs have beside the loss: their last values, and those that end apart."""

from __future__ import annotations

import math

from helpers.finding import Finding, Status
from helpers.precision.curves.aligned import aligned
from helpers.precision.curves.names import GRAD_NORM, LOSS, LOSS_SCALE, LR, SKIPPED_STEPS
from helpers.precision.curves.series import Curve
from helpers.words import Scalar

#: Judged for themselves, or no measure of how well a run learns.
OTHERS = {LOSS, LR, GRAD_NORM, LOSS_SCALE, f"{LOSS}*", *SKIPPED_STEPS}
#: Metrics told with their values; the rest is counted, and all are in the facts.
TOLD = 8


def judge_finals(left: Curve, right: Curve, shift: int, tolerance: float) -> list[Finding]:
    """ACC255: the values at the last step that both have; apart where they differ by more than `tolerance` (relative)
    beyond what the printed digits leave open."""
    apart: list[Scalar] = []
    near: list[Scalar] = []
    for name in sorted(left.series.keys() & right.series.keys() - OTHERS):
        pair = aligned(left.series[name], right.series[name], shift)
        if len(pair.steps):
            told: Scalar = {"say": "curves.final", "args": {
                "name": name, "baseline": _plain(pair.baseline[-1]), "target": _plain(pair.target[-1]),
                "step": int(pair.steps[-1])}}  # fmt: skip
            (apart if pair.excess[-1] > tolerance else near).append(told)
    found = []
    for key, status, some in (("differs", Status.WARN, apart), ("finals", Status.NOTE, near)):
        if some:
            args: dict[str, Scalar] = {"count": len(some), "metrics": some[:TOLD], "tolerance": tolerance}
            found.append(Finding("ACC255", status, f"ACC255.{key}", args, weight=45 if apart else 0))
    return found


def _plain(value: float) -> Scalar:
    return float(value) if math.isfinite(value) else str(float(value))
