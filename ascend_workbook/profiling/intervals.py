"""Sets of time intervals in whole nanoseconds: union, length, gaps. Half-open: [start, end)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Intervals:
    """Sorted, disjoint intervals; `union_of` makes them from any. Both columns int64 (n,), nanoseconds."""

    start_ns: I64
    end_ns: I64

    @classmethod
    def union_of(cls, start_ns: I64, end_ns: I64) -> Intervals:
        """Return the union of any intervals; empty ones (end <= start) are dropped, touching ones joined."""
        nonempty = end_ns > start_ns
        start, end = start_ns[nonempty], end_ns[nonempty]
        if not start.size:
            return EMPTY
        order = np.argsort(start, kind="stable")
        start, end = start[order], np.maximum.accumulate(end[order])
        at = np.flatnonzero(np.concatenate(([True], start[1:] > end[:-1])))
        return cls(start[at], end[np.concatenate((at[1:] - 1, [start.size - 1]))])

    @property
    def length_ns(self) -> int:
        return int((self.end_ns - self.start_ns).sum())

    def __or__(self, other: Intervals) -> Intervals:
        start = np.concatenate((self.start_ns, other.start_ns))
        return Intervals.union_of(start, np.concatenate((self.end_ns, other.end_ns)))

    def __sub__(self, other: Intervals) -> Intervals:
        """Return what the other does not cover; pieces that touch are not joined."""
        return other.gaps_in(self.start_ns, self.end_ns)

    def clip_to(self, start_ns: int, end_ns: int) -> Intervals:
        """Return what lies inside one window."""
        first = int(np.searchsorted(self.end_ns, start_ns, "right"))
        last = int(np.searchsorted(self.start_ns, end_ns, "left"))
        if first >= last:
            return EMPTY
        start, end = self.start_ns[first:last].copy(), self.end_ns[first:last].copy()
        start[0], end[-1] = max(start[0], start_ns), min(end[-1], end_ns)
        return Intervals(start, end)

    def gaps_in(self, start_ns: I64, end_ns: I64) -> Intervals:
        """Return what of each of several windows (m,), in order of time, is not covered; cut where two of them meet."""
        first = np.searchsorted(self.end_ns, start_ns, "right")
        count = np.maximum(np.searchsorted(self.start_ns, end_ns, "left") - first, 0)
        window = np.repeat(np.arange(count.size), count)
        at = np.arange(window.size) + np.repeat(first - np.cumsum(count) + count, count)
        behind = np.cumsum(count)  # a window has one gap more than intervals, which may be empty
        left = np.insert(np.minimum(self.end_ns[at], end_ns[window]), behind - count, start_ns)
        right = np.insert(np.maximum(self.start_ns[at], start_ns[window]), behind, end_ns)
        return Intervals(left[right > left], right[right > left])

    def before_ns(self, moments_ns: I64) -> I64:
        """Return how much is covered before each moment: (n,)."""
        if not self.start_ns.size:
            return np.zeros(moments_ns.shape, np.int64)
        before = np.concatenate(([0], np.cumsum(self.end_ns - self.start_ns)))
        at = np.searchsorted(self.start_ns, moments_ns, "right") - 1
        inside = np.minimum(moments_ns, self.end_ns[at]) - self.start_ns[at]
        return np.where(at >= 0, before[at] + inside, 0).astype(np.int64)

    def common_ns(self, other: Intervals) -> int:
        """Return how long both cover at once."""
        return self.length_ns + other.length_ns - (self | other).length_ns

    def cover_moments(self, moments_ns: I64) -> npt.NDArray[np.bool_]:
        """Return for each moment whether an interval contains it."""
        if not self.start_ns.size:
            return np.zeros(moments_ns.shape, np.bool_)
        at = np.searchsorted(self.start_ns, moments_ns, "right") - 1
        return (at >= 0) & (moments_ns < self.end_ns[np.maximum(at, 0)])


EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
