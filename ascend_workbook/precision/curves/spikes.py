"""Spikes of a loss: values far above the level before them, by median and median absolute deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascend_workbook.precision.curves.series import Series

#: The level of a value is the median of so many before it: short, so that it follows a falling curve.
NEAR = 8
#: Differences to the level before a value that make its noise; none is judged before FEWEST.
WINDOW, FEWEST = 64, 16
#: How far above the level: in deviations (1.4826 MAD, a standard deviation where noise is normal), and at least so
#: much of the level itself, since a smooth curve has next to no deviation.
DEVIATIONS, SHARE = 8.0, 0.1
#: A loss that has no more than a quarter of its rise left has come back. One that has not after WINDOW values is lost,
#: and where the log ends before it is not known to come back.
BACK = 0.25
BLOCK = 8192


@dataclass(frozen=True)
class Spike:
    """Steps `first`..`last` are high; `at` is the place of the first in the series. `skip_first` is the
    step whose batch may have caused it: batches before and during the spike are to be left out, as PaLM was trained
    (arXiv:2204.02311, 5.1). `lasting`: the loss did not come back within the window."""

    first: int
    last: int
    at: int
    peak: float
    level: float
    skip_first: int
    lasting: bool = False


def find_spikes(series: Series) -> list[Spike] | None:
    """Find the spikes in order of steps; None where there are too few values to tell."""
    steps, places = series.last_of_each()
    if len(steps) <= NEAR + FEWEST:
        return None
    values = _fill_gaps(np.asarray(series.values)[places])
    level, limit = _compute_limits(values)
    every = int(np.median(np.diff(steps)))
    found_spikes: list[Spike] = []
    after = 0
    for first in np.flatnonzero(values > limit).tolist():
        if first < after:
            continue
        peak = first + int(values[first : first + NEAR].argmax())
        back = np.flatnonzero(values[peak:] <= level[first] + BACK * (values[peak] - level[first]))
        length = peak - first + int(back[0]) if len(back) else len(values) - first
        after = first + length + NEAR // 2
        last = first + length - 1
        skip = max(int(steps[first]) - 2 * every + 1, min(0, int(steps[0])))
        lasting = length >= WINDOW or (not len(back) and length > NEAR)
        where = int(steps[first]), int(steps[last]), int(places[first])
        found_spikes.append(Spike(*where, float(values[first : last + 1].max()), float(level[first]), skip, lasting))
    return found_spikes


def _fill_gaps(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is not finite takes the value before it: NaN has a finding of its own."""
    last = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values)), 0))
    return np.where(np.isfinite(values[last]), values[last], 0.0)


def _compute_limits(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The level of each value, and what it must exceed to be a spike: infinite where too few stand before it."""
    level = np.full(len(values), np.inf)
    level[NEAR:] = np.median(np.lib.stride_tricks.sliding_window_view(values, NEAR)[:-1], axis=1)
    rest = values[NEAR:] - level[NEAR:]
    usual, spread = np.full(len(rest), np.inf), np.zeros(len(rest))
    for at in range(FEWEST, min(WINDOW, len(rest))):
        here = slice(at, at + 1)
        usual[here], spread[here] = _median_and_deviation(rest[None, :at])
    windows = np.lib.stride_tricks.sliding_window_view(rest, WINDOW)[:-1] if len(rest) > WINDOW else rest[:0]
    for begin in range(0, len(windows), BLOCK):
        part = windows[begin : begin + BLOCK]
        where = slice(WINDOW + begin, WINDOW + begin + len(part))
        usual[where], spread[where] = _median_and_deviation(part)
    limit = np.full(len(values), np.inf)
    limit[NEAR:] = level[NEAR:] + np.maximum(usual + DEVIATIONS * spread, SHARE * np.abs(level[NEAR:]))
    return level, limit


def _median_and_deviation(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    middle = np.median(rows, axis=1)
    return middle, 1.4826 * np.median(np.abs(rows - middle[:, None]), axis=1)
