"""The history of a loss scale: how often it fell, steps that were skipped for it, and a scale at its minimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.curves.series import LOSS_SCALE, SKIPPED_STEPS, Curve

#: Below this a scale no longer keeps small gradients from underflow: Megatron-LM's --min-loss-scale and DeepSpeed's
#: min_loss_scale are 1.
MINIMUM = 1.0
#: A dynamic scale is tried down from 2**16 (GradScaler) or 2**32 (Megatron-LM) at the start: falls are told where the
#: target has more than so many beyond the baseline's.
MORE = 3


@dataclass(frozen=True)
class History:
    """Of one run. `place` is where it fell first, or where it reached its minimum."""

    falls: int
    first_fall: int | None
    lowest: float
    lowest_step: int
    last: float
    place: Place


def scale_history_of(curve: Curve) -> History | None:
    """Return the history of a log's loss scale; None where the log has no loss scale."""
    series = curve.series.get(LOSS_SCALE)
    if series is None or not series.values:
        return None
    steps, places = series.last_of_each()
    values = np.asarray(series.values)[places]
    falls = np.flatnonzero(np.diff(values) < 0) + 1
    lowest = int(np.nanargmin(values)) if np.isfinite(values).any() else 0
    at = int(places[int(falls[0]) if len(falls) else lowest])
    return History(
        len(falls),
        int(steps[falls[0]]) if len(falls) else None,
        float(values[lowest]),
        int(steps[lowest]),
        float(values[-1]),
        Place(*curve.place_of_value(series, at)),
    )


def skipped_steps(curve: Curve) -> int:
    """Updates left out for an overflow: counted by our own log, or summed over Megatron-LM's column."""
    series = next((curve.series[name] for name in SKIPPED_STEPS if name in curve.series), None)
    return curve.skipped + (int(np.nansum(np.asarray(series.values)[series.last_of_each()[1]])) if series else 0)


def judge_scale(baseline: Curve, target: Curve) -> list[Finding]:
    """What is wrong with the target's loss scale, beside the baseline's."""
    findings = []
    before, now = scale_history_of(baseline), scale_history_of(target)
    if now and now.falls and now.last <= MINIMUM:
        args: dict[str, Scalar] = {"step": now.lowest_step, "lowest": now.lowest, "falls": now.falls}
        findings.append(Finding("ACC254", Status.FIX, "ACC254.minimum", args, place=now.place, weight=145))
    elif now and now.falls > (before.falls if before else 0) + MORE:
        args = {"falls": now.falls, "step": now.first_fall, "lowest": now.lowest}
        args["baseline"] = before.falls if before else None
        findings.append(Finding("ACC254", Status.LOOK, "ACC254.falls", args, place=now.place, weight=60))
    skipped = skipped_steps(baseline), skipped_steps(target)
    if skipped[0] != skipped[1]:
        args = {"baseline": skipped[0], "target": skipped[1]}
        findings.append(Finding("ACC254", Status.LOOK, "ACC254.skipped", args, weight=50))
    return findings
