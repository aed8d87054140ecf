"""Times of repeated steps as numbers to compare: percentiles, mean, its uncertainty, and whether it was steady.

torch.utils.benchmark.Measurement has median and quartiles, no percentiles of the tail, interval or drift, and needs
torch in the process that reads the times.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

#: Student's t, two-sided 95 %, by degrees of freedom (one less than the groups)
T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}
#: One run's steps are not independent: their means in so many consecutive groups nearly are
GROUPS = 5
#: Interquartile range and drift, in percent of the median: from where on a time is not steady, and is no result
LOOSE, UNSTEADY = 10.0, 25.0
#: Median steps, from where on one is told by itself
FAR = 5.0


def compute_percentile(times: Sequence[float], percent: float) -> float:
    """Compute a percentile: between the two nearest of the sorted times, linearly."""
    return float(np.percentile(times, percent))


def spread_percent(times: Sequence[float]) -> float:
    """Return the interquartile range, in percent of the median."""
    return 100 * (compute_percentile(times, 75) - compute_percentile(times, 25)) / compute_percentile(times, 50)


def drift_percent(times: Sequence[float]) -> float:
    """Return how much longer the last third takes than the first, in percent; 0 for fewer than six."""
    third = len(times) // 3
    if third < 2:
        return 0.0
    return 100 * (statistics.median(times[-third:]) / statistics.median(times[:third]) - 1)


def find_far_steps(times: Sequence[float]) -> list[float]:
    """Return the times of more than FAR median steps: an evaluation, a checkpoint, a wait for a burst of data."""
    limit = FAR * compute_percentile(times, 50)
    return [seconds for seconds in times if seconds > limit]


def confidence_interval(runs: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Return the 95 % confidence of the mean time, of the means of three or more runs, else of groups of consecutive
    steps.

    None where there are too few steps for groups. What differs from run to run is only in it with three runs.
    """
    means = [statistics.fmean(run) for run in runs if run]
    if len(means) < 3:
        means = [statistics.fmean(group) for run in runs for group in _split_groups(run)]
    if len(means) < 3:
        return None
    half = T95.get(len(means) - 1, 2.0) * statistics.stdev(means) / len(means) ** 0.5
    center = statistics.fmean([seconds for run in runs for seconds in run])
    return max(0.0, center - half), center + half


def _split_groups(run: Sequence[float]) -> list[Sequence[float]]:
    """Split a run into GROUPS groups of consecutive steps; none where it is too short."""
    size = len(run) // GROUPS
    return [run[at * size : (at + 1) * size] for at in range(GROUPS)] if size else []
