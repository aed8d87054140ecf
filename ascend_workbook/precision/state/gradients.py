"""The gradients after backward, held against the other side's; where they part, in which way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np

from ascend_workbook.precision.state.judge import (
    CEILING,
    COUNT,
    GRADIENT,
    GROWTH,
    NOTHING,
    ONE_FACTOR,
    OUTSTANDING,
    RECOMPUTE,
    SMALLEST,
    WIDER,
    WIDEST,
    Judge,
)
from ascend_workbook.precision.state.reading import Step, Tensor
from ascend_workbook.precision.state.sketches import find_factor, measure_relative


def judge_backward(judge: Judge, left: Step, right: Step) -> None:
    number = left.number
    masks = [
        [entry["place"] for entry in side.recomputes if entry["drew"] and entry["same"] is False]
        for side in (left, right)
    ]
    for at, side in ((1, "target"), (0, "baseline")):
        if masks[at] and not masks[1 - at]:
            judge.tell(number, RECOMPUTE, place=masks[at][0], side=side, count=len(masks[at]))
    if left.backwards != right.backwards:
        judge.tell(
            number,
            COUNT,
            baseline=left.backwards,
            target=right.backwards,
            place=right.raw.get("backward_place", ""),
        )
        return
    comparable = number < judge.known.data_from and number < judge.known.parted_from and not judge.known.draws_differ
    if comparable and left.gradients and right.gradients:
        _judge_gradients(judge, left, right)


def _judge_gradients(judge: Judge, left: Step, right: Step) -> None:
    number = left.number
    units = [side.scale or 1.0 for side in (left, right)]
    mine, theirs = left.gradients, right.gradients
    common = [name for name in mine if name in theirs and mine[name].shape == theirs[name].shape]
    if not common:
        return
    infinite = [name for name in common if mine[name].finite != theirs[name].finite]
    differences: dict[str, float] = {}
    zeros = []
    smallest = measure_smallest(judge, [mine[name] for name in common], units[0])
    for name in common:
        if not (mine[name].finite and theirs[name].finite):
            continue
        reference, other = mine[name].sketch / units[0], theirs[name].sketch / units[1]
        differences[name] = float(np.linalg.norm(reference - other))
        if theirs[name].norm == 0.0 and mine[name].norm / units[0] > 1e-6 * smallest and mine[name].size > 1:
            zeros.append(name)
    lacking = [name for name in mine if name not in theirs]

    # what is nothing but rounding in the baseline (a bias that a normalisation follows) is so in the target too
    nothing = smallest / SMALLEST[judge.level]
    idle = {name for name in differences if mine[name].norm / units[0] < NOTHING * nothing * mine[name].size ** 0.5}

    def measure(smallest: float) -> dict[str, float]:
        least = {name: max(smallest, SMALLEST[1] * nothing if name in idle else 0.0) for name in differences}
        sizes = {
            name: max(mine[name].norm / units[0], theirs[name].norm / units[1], least[name] * mine[name].size ** 0.5)
            for name in differences
        }
        return {name: differences[name] / size if size else 0.0 for name, size in sizes.items()}

    errors = measure(smallest)
    middle = median(errors.values()) if errors else 0.0
    wider = min(WIDER * middle, WIDEST) / SMALLEST[judge.level]
    if wider > 1:
        errors = measure(smallest * wider)
    judge.backward_errors = errors
    carried = _measure_weights(left, right, [name for name in differences if name not in idle])
    allowed = max(_allowed_gradient(judge, number, middle), judge.folded_floor(carried, middle))
    judge.add_row(number, "gradient", errors, allowed)
    wrong = sorted((name for name in errors if errors[name] > allowed), key=lambda name: -errors[name])
    judge.noise = max(judge.noise, middle)
    if zeros or lacking:
        names = zeros or lacking
        detail = "one" if len(names) < len(common) else "zero"
        judge.tell(number, GRADIENT, "zeroed", names, count=len(names), of=len(common), label=detail, side="target")
    elif infinite:
        side = "target" if mine[infinite[0]].finite else "baseline"
        judge.tell(number, GRADIENT, "nonfinite", infinite, count=len(infinite), of=len(common), side=side)
    elif wrong or _is_stale(judge, right, common, left, units) or _find_scaled(judge, left, right, errors, units):
        wrong = (
            wrong or _find_scaled(judge, left, right, errors, units) or sorted(errors, key=lambda name: -errors[name])
        )
        _explain_gradients(judge, left, right, common, wrong, errors, allowed, units)


def _is_stale(judge: Judge, right: Step, common: list[str], left: Step, units: list[float]) -> bool:
    """Whether the gradients are the baseline's with those of the step before added to them."""
    if judge.right is None or right.backwards != left.backwards:
        return False
    reference = np.concatenate([left.gradients[name].sketch for name in common]) / units[0]
    other = np.concatenate([right.gradients[name].sketch for name in common]) / units[1]
    earlier = _stale(judge, right, common, units[1])
    rest = measure_relative(other, reference)
    return (
        earlier is not None
        and measure_relative(other, reference + earlier) < 0.4 * rest
        and rest > 10 * judge.floor_at(left.number)
    )


def _find_scaled(judge: Judge, left: Step, right: Step, errors: Mapping[str, float], units: list[float]) -> list[str]:
    """Parameters whose gradient is the baseline's times a number that noise of this size would not make."""
    off: dict[str, tuple[float, float]] = {}
    for name in errors:
        reference, other = left.gradients[name].sketch / units[0], right.gradients[name].sketch / units[1]
        size = float(reference @ reference)
        if size and left.gradients[name].size >= 32:
            factor = float(reference @ other) / size
            off[name] = (abs(factor - 1), float(np.linalg.norm(other - factor * reference)) / math.sqrt(size))
    usual = median(value for value, _ in off.values()) if off else 0.0
    return [
        name
        for name, (value, rest) in off.items()
        if value > max(0.05, 8 * usual, 6 * rest / math.sqrt(32)) and errors[name] > 0.04
    ]


def _explain_gradients(
    judge: Judge,
    left: Step,
    right: Step,
    common: list[str],
    wrong: list[str],
    errors: dict[str, float],
    allowed: float,
    units: list[float],
) -> None:
    number = left.number
    reference = np.concatenate([left.gradients[name].sketch for name in common]) / units[0]
    other = np.concatenate([right.gradients[name].sketch for name in common]) / units[1]
    args: dict[str, Any] = {"count": len(wrong), "of": len(common), "error": errors[wrong[0]], "allowed": allowed}
    args["place"] = right.raw.get("backward_place", "")
    tolerance = max(ONE_FACTOR, 3 * judge.floor_at(number))
    factor = find_factor(reference, other, tolerance)
    rest = measure_relative(other, reference)
    if judge.right is not None and judge.right.gradients:
        earlier = _stale(judge, right, common, units[1])
        if (
            earlier is not None
            and measure_relative(other, reference + earlier) < max(0.4 * rest, tolerance)
            and rest > tolerance
        ):
            judge.tell(number, GRADIENT, "stale", wrong, **args)
            return
    for at, partial in enumerate(left.cumulated[:-1]):
        part = np.concatenate([partial[name].sketch for name in common if name in partial]) / units[0]
        if len(part) == len(other) and measure_relative(other, part) < min(0.3 * rest, tolerance):
            judge.tell(number, GRADIENT, "partial", wrong, used=at + 1, micro=left.backwards, **args)
            return
    if factor is not None and abs(factor - 1) > tolerance:
        judge.tell(number, GRADIENT, "factor", wrong, factor=factor, micro=right.backwards, **args)
        return
    single = {}
    for name in wrong:
        mine, theirs = left.gradients[name].sketch / units[0], right.gradients[name].sketch / units[1]
        own = find_factor(mine, theirs, max(tolerance, 0.1))
        if own is not None:
            single[name] = own
    if len(wrong) <= max(1, len(common) // 4) and wrong[0] in single:
        judge.tell(number, GRADIENT, "one_factor", wrong, factor=single[wrong[0]], **args)
    else:
        judge.tell(number, GRADIENT, "one" if len(wrong) < len(common) // 2 else "wrong", wrong, **args)


def _stale(judge: Judge, right: Step, common: list[str], unit: float) -> Any:
    """The gradients that the step before left behind on the target, as its optimizer read them."""
    assert judge.right is not None
    used: dict[str, Tensor] = {}
    for update in judge.right.updates:
        used.update(update.gradients)
    if not all(name in used for name in common):
        return None
    return np.concatenate([used[name].sketch for name in common]) / unit * (1.0 if not right.scale else 1.0)


def _allowed_gradient(judge: Judge, number: int, middle: float) -> float:
    grown = judge.noise * GROWTH
    floor = max(judge.floor_at(number), 10 * judge.known.noise)
    ceiling = max(CEILING[judge.level], min(grown, 0.9))
    return max(floor, min(OUTSTANDING * middle, ceiling))


def _measure_weights(left: Step, right: Step, names: list[str]) -> float:
    """By how much the weights that these gradients were made with differ, relative to all of them."""
    apart, size = 0.0, 0.0
    for mine, theirs in zip(left.updates, right.updates):
        for name in names:
            if name in mine.weights and name in theirs.weights:
                apart += mine.weights[name].distance(theirs.weights[name]) ** 2
                size += mine.weights[name].norm ** 2
    return math.sqrt(apart / size) if 0 < apart < math.inf and 0 < size < math.inf else 0.0


def measure_smallest(judge: Judge, tensors: list[Tensor], unit: float) -> float:
    """Root mean square of all gradients, times what a gradient of noise may be of it."""
    finite = [tensor for tensor in tensors if tensor.finite]
    size = sum(tensor.size for tensor in finite)
    return SMALLEST[judge.level] * math.sqrt(sum((t.norm / unit) ** 2 for t in finite) / size) if size else 0.0
