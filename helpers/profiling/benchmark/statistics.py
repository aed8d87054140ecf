"""Times of repeated steps as numbers to compare: percentiles, mean, its uncertainty, and whether it was steady.

torch.utils.benchmark.Measurement has median and quartiles, no percentiles of the tail, interval or drift, and needs
torch in the process that reads the times.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

#: Student's t, two-sided 95 %, by degrees of freedom (one less than the groups)
T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}
#: One run's steps are not independent: their means in so many consecutive groups nearly are
GROUPS = 5
#: Interquartile range and drift, in percent of the median: from where on a time is not steady, and is no result
LOOSE, UNSTEADY = 10.0, 25.0
#: Median steps, from where on one is told by itself
FAR = 5.0


def percentile(times: Sequence[float], percent: float) -> float:
    """Between the two nearest of the sorted times, linearly, as numpy does it."""
    ordered = sorted(times)
    at = (len(ordered) - 1) * percent / 100
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def spread_percent(times: Sequence[float]) -> float:
    """The interquartile range, in percent of the median."""
    return 100 * (percentile(times, 75) - percentile(times, 25)) / percentile(times, 50)


def drift_percent(times: Sequence[float]) -> float:
    """How much longer the last third takes than the first, in percent; 0 for fewer than six."""
    third = len(times) // 3
    if third < 2:
        return 0.0
    return 100 * (statistics.median(times[-third:]) / statistics.median(times[:third]) - 1)


def far_beyond(times: Sequence[float]) -> list[float]:
    """Those that take more than FAR median steps: an evaluation, a checkpoint, a burst of data that was waited for."""
    limit = FAR * percentile(times, 50)
    return [one for one in times if one > limit]


def interval(runs: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """95 % confidence of the mean time, of the means of three or more runs, else of groups of consecutive steps.

    None where there are too few steps for groups. What differs from run to run is only in it with three runs.
    """
    means = [statistics.fmean(run) for run in runs if run]
    if len(means) < 3:
        means = [statistics.fmean(group) for run in runs for group in _groups(run)]
    if len(means) < 3:
        return None
    half = T95.get(len(means) - 1, 2.0) * statistics.stdev(means) / len(means) ** 0.5
    center = statistics.fmean([one for run in runs for one in run])
    return max(0.0, center - half), center + half


def _groups(run: Sequence[float]) -> list[Sequence[float]]:
    size = len(run) // GROUPS
    return [run[at * size : (at + 1) * size] for at in range(GROUPS)] if size else []
