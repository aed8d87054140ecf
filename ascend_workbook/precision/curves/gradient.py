"""The norm of the gradient beside the loss: it tells a backward that is wrong while the forward still agrees."""

from __future__ import annotations

import numpy as np

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.curves.aligned import Aligned, align_series
from ascend_workbook.precision.curves.names import GRAD_NORM
from ascend_workbook.precision.curves.parting import first_place
from ascend_workbook.precision.curves.series import Curve

#: Times the loss's tolerance: at the first value, before any update, and later. Measured on CPU kernels, a small
#: network with batch norm, one thread against two: 1e-5 beside 1e-7 of the loss at step 1, 2e-3 beside 2e-4 at
#: step 10, 1e-2 beside 6e-4 at step 15.
AT_FIRST, LATER = 10.0, 100.0
#: Ratios that lie so near their median are one factor; fewer values than this tell none.
SPREAD, ENOUGH = 0.01, 5


def judge_gradient(
    left: Curve, right: Curve, shift: int, tolerance: float, loss_step: int | None, before_update: bool
) -> list[Finding]:
    """ACC258 where the norm parts before the loss does (`loss_step`; None: the loss does not part).

    `before_update`: the first value of both runs stands before any update of the weights.
    """
    if GRAD_NORM not in left.series or GRAD_NORM not in right.series:
        return []
    pair = align_series(left.series[GRAD_NORM], right.series[GRAD_NORM], shift)
    odd = ~(np.isfinite(pair.baseline) & np.isfinite(pair.target))  # told for themselves: a step that AMP left out
    at = first_place(pair, LATER * tolerance, odd)
    if before_update and len(pair.steps) and pair.excess[0] > AT_FIRST * tolerance:
        at = 0
    if at is None or odd[at] or (loss_step is not None and int(pair.steps[at]) >= loss_step):
        return []
    place = Place(*right.place_of_value(right.series[GRAD_NORM], int(pair.at_target[at])))
    args: dict[str, Scalar] = {
        "step": int(pair.steps[at]),
        "baseline": float(pair.baseline[at]),
        "target": float(pair.target[at]),
    }
    factor = _common_factor(pair, odd)
    if factor is not None:
        return [Finding("ACC258", Status.WARN, "ACC258.factor", {**args, "factor": factor}, place=place, weight=60)]
    args["loss"] = Sentence("curves.loss_never") if loss_step is None else Sentence("curves.loss_later", step=loss_step)
    return [Finding("ACC258", Status.WARN, "ACC258.first", args, place=place, weight=60)]


def _common_factor(pair: Aligned, odd: np.ndarray) -> float | None:
    """What all of the target's norms are times the baseline's, where that is one number other than 1."""
    usable = ~odd & (pair.baseline != 0)
    ratios = pair.target[usable] / pair.baseline[usable]
    if len(ratios) < ENOUGH:
        return None
    middle = float(np.median(ratios))
    near = np.abs(ratios - middle) <= SPREAD * abs(middle)
    return middle if abs(middle - 1) > SPREAD and near.mean() >= 0.9 else None
