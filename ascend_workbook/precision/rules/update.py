"""ACC235: did the optimizer's update agree? It is not captured itself; it shows in the weights that the first operator
of the next step reads. Where no step was captured with the one after it, an optimizer that computes wrong values stays
unseen, and that is said."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.comparison import Comparison, StepComparison
from ascend_workbook.precision.record import BACKWARD, FORWARD

CODE = "ACC235"
BASIS = "facts"
#: Relative L2 error of what the first operator of the next step reads, its weights among it. Rounding leaves about
#: 1e-5 after one update; an optimizer that is off by half leaves the update's own size, 1e-3 and more.
LIMIT = 1e-4
#: Weights differ by no more than the gradients that moved them, where the update is no larger than the weights.
#: Measured with HF32, a network with batch norm, 16 samples: gradients 5e-2 apart, weights 7e-3 after one update.


def check(facts: Comparison) -> Iterator[Finding]:
    if facts.stopped or facts.bare or facts.first is not None:
        return
    pairs = pair_following_steps(facts)
    if not pairs:
        yield Finding(CODE, Status.NOTE, "ACC235.unseen", {"steps": sorted({step.step for step in facts.steps})})
    for before, after in pairs:
        yield from _check_weights(before, after)


def pair_following_steps(facts: Comparison) -> list[tuple[StepComparison, StepComparison]]:
    """Pair each step with the one after it, between which the update shows; none where no tensor was compared, and
    where an operator parts the runs, so that weights differ for that alone."""
    if facts.stopped or facts.bare or facts.first is not None:
        return []
    by_key = {(step.step, step.rank): step for step in facts.steps}
    return [(step, by_key[step.step + 1, step.rank]) for step in facts.steps if (step.step + 1, step.rank) in by_key]


def _check_weights(before: StepComparison, after: StepComparison) -> Iterator[Finding]:
    """Held against what the step before began with: later steps inherit the difference of earlier updates."""
    first = next(
        (judgement for judgement in after.judged if judgement.agreement.pair.target.direction == FORWARD), None
    )
    began = next(
        (judgement for judgement in before.judged if judgement.agreement.pair.target.direction == FORWARD), None
    )
    if first is None or began is None:
        return
    error, had = first.agreement.error_in, began.agreement.error_in
    if error <= max(LIMIT, 30 * had):
        return
    gradients = _median_gradient_error(before)
    where: dict[str, Scalar] = {"step": before.step, "rank": after.rank, "operator": first.name, "error": error}
    if error <= gradients:
        yield Finding(CODE, Status.NOTE, "ACC235.explained", {**where, "gradients": gradients}, weight=60)
    else:
        yield Finding(CODE, Status.WARN, "ACC235.parted", {**where, "limit": max(LIMIT, gradients)}, weight=200)


def _median_gradient_error(step: StepComparison) -> float:
    """Return by how much the step's gradients differ, in the middle: single ones may be next to nothing on both
    sides.
    """
    errors = (
        judgement.agreement.error_out
        for judgement in step.judged
        if judgement.agreement.pair.target.direction == BACKWARD
    )
    finite_errors = [error for error in errors if error is not None and math.isfinite(error)]
    return median(finite_errors) if finite_errors else 0.0
