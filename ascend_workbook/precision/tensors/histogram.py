"""Both sides of a tensor counted into the same bins, for a picture: small, however large the tensor is.

Values that are not finite are counted apart. Beside the two counts stands how far elements lie from each other, by
decades of the baseline's root mean square: one wrong element and a whole tensor that is off by as much look alike in
the relative error, and not there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ascend_workbook.precision.tensors.measuring import Job, Sample, locate_pair, real_parts
from ascend_workbook.precision.tensors.tensorfile import Array, Stored, read_tensor

#: Bins of a picture; elements of a block, and those that are read at most: of more, a share.
BINS, BLOCK, MOST = 32, 1 << 16, 1 << 24
#: Decades of the difference, by the root mean square: what lies outside is counted at the end.
NEAREST, FURTHEST = -12, 3


@dataclass(frozen=True)
class Histogram:
    """Counts of both sides from `low` to `high` in bins of equal width; `odd` has per side the NaN, the infinities
    above and those below; `apart` counts the pairs by decades from 10**NEAREST on, `equal` those that do not differ.
    `read` of `size` elements were read."""

    low: float
    high: float
    baseline: tuple[int, ...]
    target: tuple[int, ...]
    odd_baseline: tuple[int, int, int]
    odd_target: tuple[int, int, int]
    apart: tuple[int, ...]
    equal: int
    read: int
    size: int


def count_values(job: Job, sample: Sample) -> Histogram | None:
    """Count both tensors; None where there is nothing to draw: no element, no finite one, or a range beyond numbers.

    Raises WorkbookError where a file cannot be read, or their shapes differ."""
    target, baseline = locate_pair(job)
    if target.size == 0:
        return None
    reading = Sample(min(sample.share, MOST / target.size), sample.seed)
    low, high, squares, read = math.inf, -math.inf, 0.0, 0
    odd = [np.zeros(3, np.int64), np.zeros(3, np.int64)]
    for sides in _read_pairs(target, baseline, job, reading):
        read += sides[0].size
        for side, (values, odd_counts) in enumerate(zip(sides, odd)):
            finite = values[np.isfinite(values)]
            odd_counts += (np.isnan(values).sum(), (values == np.inf).sum(), (values == -np.inf).sum())
            if finite.size:
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
            if side == 1:
                with np.errstate(over="ignore"):
                    squares += float(finite.dot(finite))
    if not math.isfinite(high - low) or not math.isfinite(squares):
        return None
    if low == high:
        low, high = low - (abs(low) / 2 or 0.5), high + (abs(high) / 2 or 0.5)
    size = math.sqrt(squares / read)
    counts = [np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)]
    apart, equal = np.zeros(FURTHEST - NEAREST, np.int64), 0
    for sides in _read_pairs(target, baseline, job, reading):
        for values, count in zip(sides, counts):
            count += np.histogram(values[np.isfinite(values)], BINS, (low, high))[0]
        decades, same = _count_decades(*sides, size)
        apart, equal = apart + decades, equal + same
    plain = [tuple(map(int, count)) for count in (*counts, *odd, apart)]
    odd_target, odd_baseline = ((int(a), int(b), int(c)) for a, b, c in odd)
    return Histogram(
        low, high, plain[1], plain[0], odd_baseline, odd_target, plain[4], equal, read, max(read, target.size)
    )


def _count_decades(target: Array, baseline: Array, size: float) -> tuple[Array, int]:
    """Count how far finite pairs are apart, by decades of `size`, and those that are equal."""
    finite = np.isfinite(target) & np.isfinite(baseline)
    difference = np.abs(target[finite] - baseline[finite])
    some = difference[difference > 0]
    with np.errstate(divide="ignore", over="ignore"):
        decades = np.floor(np.log10(some / size)) if size else np.full(some.size, FURTHEST)
    places = np.clip(decades, NEAREST, FURTHEST - 1).astype(np.int64) - NEAREST
    return np.bincount(places, minlength=FURTHEST - NEAREST), int(difference.size - some.size)


def _read_pairs(target: Stored, baseline: Stored, job: Job, sample: Sample) -> Iterator[tuple[Array, Array]]:
    """Yield the blocks of both sides as float64, of a complex tensor its parts."""
    if target.strides or baseline.strides:
        sides = (read_tensor(path).reshape(-1) for path in (job.target, job.baseline))
        first, second = (np.array(real_parts(np.ascontiguousarray(side)), np.float64) for side in sides)
        yield first, second
        return
    count, chosen = sample.choose_blocks(job.target.name, target.size, BLOCK)
    for pair in zip(target.read_blocks(count, chosen), baseline.read_blocks(count, chosen)):
        first, second = (real_parts(side).astype(np.float64) for side in pair)
        yield first, second
