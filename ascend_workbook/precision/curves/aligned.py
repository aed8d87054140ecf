"""Two series side by side: the values of the steps that both have, and how far apart they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascend_workbook.precision.curves.series import Series
from ascend_workbook.precision.tensors.tolerance import unit_roundoff

#: Relative difference of losses. Before the first update only the forward pass stands behind it, and a difference
#: is an error; later, training amplifies honest rounding. Measured on CPU kernels, a small residual network: one
#: thread against two part by 2e-3 at step 8 and by 3e-2 at step 10, convolutions in HF32 by 3e-3 at step 3.
TOLERANCE = 1e-3
#: Units in the last place of the coarsest format a run computes in by which its losses may differ: a loss is a mean
#: over many numbers that were rounded so, some of them several times. Seen with 1 unit of noise on every operator under
#: bfloat16 autocast: 0.4.
UNITS = 2.0


def tolerance_of(dtypes: Iterable[str]) -> float:
    """Return what losses may differ by where the runs compute in these formats, unless another tolerance is given."""
    return max([TOLERANCE, *(UNITS * unit_roundoff(dtype) for dtype in dtypes)])


#: Of so many values in a row, the first included, so many must be beyond it.
WINDOW, ENOUGH = 5, 3
#: With no more values than these nothing tells a lone one from a beginning.
FEW = 10


def exceeds_tolerance(pair: Aligned, tolerance: float) -> NDArray[np.bool_]:
    """Return which values differ by more than the tolerance."""
    return pair.excess > tolerance


def first_place(pair: Aligned, tolerance: float, aside: NDArray[np.bool_] | None = None) -> int | None:
    """The place in `pair` from which the curves are apart; None where they are not. At the end of the log, where
    fewer values follow, half of them are enough: not looked is not clean. `aside`: values within spikes, which are
    told for themselves."""
    over = exceeds_tolerance(pair, tolerance)
    if aside is not None and len(over) > FEW:
        over &= ~aside
    places = np.flatnonzero(over)
    if len(over) <= FEW:
        return int(places[0]) if len(places) else None
    total = np.concatenate([[0], np.cumsum(over)])
    ends = np.minimum(places + WINDOW, len(over))
    lasting = places[total[ends] - total[places] >= np.minimum(ENOUGH, (ends - places + 1) // 2)]
    return int(lasting[0]) if len(lasting) else None


Floats = NDArray[np.float64]
Steps = NDArray[np.int64]


@dataclass(frozen=True)
class Aligned:
    """`steps` ascend; `at_baseline` and `at_target` are places in the series' own arrays. `excess` is the relative
    difference less what the printed digits leave open. `only_*` are steps of one side within the range of both."""

    steps: Steps
    baseline: Floats
    target: Floats
    at_baseline: Steps
    at_target: Steps
    absolute: Floats
    relative: Floats
    excess: Floats
    smoothed: Floats
    only_baseline: Steps
    only_target: Steps


def align_series(baseline: Series, target: Series, shift: int = 0) -> Aligned:
    """By step, `shift` added to the target's. Smoothed: the relative difference of trailing means."""
    left, at_left = baseline.last_of_each()
    right, at_right = target.last_of_each()
    right = right + shift
    steps, in_left, in_right = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    at_left, at_right = at_left[in_left], at_right[in_right]
    a, b = np.asarray(baseline.values)[at_left], np.asarray(target.values)[at_right]
    absolute, relative = measure_difference(a, b)
    blur = _printed_uncertainty(baseline, a) + _printed_uncertainty(target, b)
    with np.errstate(all="ignore"):
        open_ = np.where(np.isfinite(blur) & (a != 0), blur / np.abs(a), 0.0)
    low = max(left[0], right[0]) if len(left) and len(right) else 0
    high = min(left[-1], right[-1]) if len(left) and len(right) else -1
    within = [side[(side >= low) & (side <= high)] for side in (left, right)]
    return Aligned(
        steps,
        a,
        b,
        at_left,
        at_right,
        absolute,
        relative,
        np.maximum(relative - open_, 0.0),
        smooth_difference(a, b),
        *(np.setdiff1d(side, steps, assume_unique=True) for side in within),
    )


def measure_difference(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Absolute and relative difference; two equal infinities or two NaN do not differ."""
    with np.errstate(all="ignore"):
        absolute = np.abs(b - a)
        relative = np.where(a != 0, absolute / np.abs(a), np.inf)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    odd = ~(np.isfinite(a) & np.isfinite(b))
    absolute[odd], relative[odd] = np.inf, np.inf
    absolute[same], relative[same] = 0.0, 0.0
    return absolute, relative


def smooth_difference(a: Floats, b: Floats) -> Floats:
    """|mean(b) - mean(a)| / |mean(a)| over the last values: 5, or 2 % of the run; NaN where one is not finite."""
    window = max(5, len(a) // 50)
    means = [_trailing_mean(side, window) for side in (a, b)]
    with np.errstate(all="ignore"):
        ratios = np.abs(means[1] - means[0]) / np.abs(means[0])
    return np.asarray(np.where(means[0] == means[1], 0.0, ratios))


def _trailing_mean(values: Floats, window: int) -> Floats:
    """Of the last `window` values at each place, of fewer at the beginning."""
    finite = np.isfinite(values)
    sums = np.cumsum(np.where(finite, values, 0.0))
    odd = np.cumsum(~finite)
    count = np.minimum(np.arange(1, len(values) + 1), window)
    before, odd_before = np.zeros_like(sums), np.zeros_like(odd)
    before[window:], odd_before[window:] = sums[:-window], odd[:-window]
    return np.where(odd - odd_before > 0, np.nan, (sums - before) / np.maximum(count, 1))


def _printed_uncertainty(series: Series, values: Floats) -> Floats:
    """What the printed digits of each value leave open."""
    if series.significant > 0:
        with np.errstate(all="ignore"):
            powers = np.floor(np.log10(np.abs(values))) - series.significant + 1
            return np.where(np.isfinite(powers), 0.5 * 10.0**powers, 0.0)
    return np.full(len(values), series.resolution(1.0))
