"""Metrics that both logs have beside the loss: their last values, and those that end apart."""

from __future__ import annotations

import math

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.curves.aligned import align_series
from ascend_workbook.precision.curves.names import GRAD_NORM, LOSS, LOSS_SCALE, LR, SKIPPED_STEPS
from ascend_workbook.precision.curves.series import Curve

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
        pair = align_series(left.series[name], right.series[name], shift)
        if len(pair.steps):
            sentence: Scalar = Sentence(
                "curves.final",
                name=name,
                baseline=_to_scalar(pair.baseline[-1]),
                target=_to_scalar(pair.target[-1]),
                step=int(pair.steps[-1]),
            )
            (apart if pair.excess[-1] > tolerance else near).append(sentence)
    findings = []
    for key, status, some in (("differs", Status.WARN, apart), ("finals", Status.NOTE, near)):
        if some:
            args: dict[str, Scalar] = {"count": len(some), "metrics": some[:TOLD], "tolerance": tolerance}
            findings.append(Finding("ACC255", status, f"ACC255.{key}", args, weight=45 if apart else 0))
    return findings


def _to_scalar(value: float) -> Scalar:
    return float(value) if math.isfinite(value) else str(float(value))
