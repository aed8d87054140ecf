"""Which operator encloses which: innermost operator at a moment, and self time. Operators of a thread nest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.trace import order_by_code

I32 = npt.NDArray[np.int32]
Rows = npt.NDArray[np.integer]


class Nesting:
    """The operators of one thread, nested by their times: columns (n,) int64 in nanoseconds, in order of their
    starts, of equal ones the longer first. `parent` (n,): the place of the operator around each, or -1."""

    def __init__(self, start_ns: I64, duration_ns: I64, rows: Rows | Sequence[int]) -> None:
        order = _order_by_start(start_ns, duration_ns)
        self.start_ns = start_ns[order]
        self.end_ns = self.start_ns + duration_ns[order]
        self.rows = np.asarray(rows, np.int64)[order]
        parents = _find_parents(self.start_ns, self.end_ns)
        self.parent = _parents_one_by_one(self.start_ns, self.end_ns) if parents is None else parents

    def innermost_at(self, moments_ns: I64) -> I32:
        """Return for each moment the row of the innermost operator going on, or -1: (n,)."""
        at = np.searchsorted(self.start_ns, moments_ns, "right") - 1
        early = np.flatnonzero((at >= 0) & (self.end_ns[at] < moments_ns))
        while early.size:
            at[early] = self.parent[at[early]]
            early = early[(at[early] >= 0) & (self.end_ns[at[early]] < moments_ns[early])]
        return np.where(at >= 0, self.rows[at], -1).astype(np.int32)

    def inherit_values(self, values: I32, bare: Sequence[bool], wanted: I32) -> None:
        """Give each wanted row that is bare the value of the nearest operator around it that is not: `values` has one a
        row, counting in `bare`."""
        nothing = np.asarray(bare, np.bool_)
        at = np.flatnonzero(np.isin(self.rows, wanted))
        at = at[nothing[values[self.rows[at]]]]
        above = self.parent[at]
        while (going := (above >= 0) & nothing[values[self.rows[above]]]).any():
            above[going] = self.parent[above[going]]
        has_value = above >= 0
        values[self.rows[at[has_value]]] = values[self.rows[above[has_value]]]

    def self_ns(self) -> I64:
        """Return for each operator its duration without what its direct children take, beside `rows`: (n,)."""
        own = self.end_ns - self.start_ns
        inner = np.flatnonzero(self.parent >= 0)
        above = self.parent[inner]
        inside = np.minimum(self.end_ns[inner], self.end_ns[above]) - self.start_ns[inner]
        np.subtract.at(own, above, np.maximum(inside, 0))
        return own


def _order_by_start(start_ns: I64, duration_ns: I64) -> npt.NDArray[np.intp]:
    """Return the order by starts, of equal ones the longer first."""
    order = np.argsort(start_ns, kind="stable")
    equal = np.diff(start_ns[order]) == 0
    several = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    among = order[several]
    order[several] = among[np.lexsort((-duration_ns[among], start_ns[among]))]
    return order


def _find_parents(start_ns: I64, end_ns: I64) -> I64 | None:
    """Find the parents of intervals that nest like brackets, in their order; None where two overlap otherwise. Those
    going on when one begins enclose it, so their number is its depth, and the last before it that is one less deep is
    its parent. One without length encloses nothing."""
    long = end_ns > start_ns
    before: I64 = np.cumsum(long) - long
    depth = before - np.searchsorted(np.sort(end_ns[long]), start_ns, "right")
    parent = np.full(start_ns.size, -1, np.int64)
    order = order_by_code(depth)
    levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
    for outer, inner in zip(levels, levels[1:]):
        outer = outer[long[outer]]
        parent[inner] = np.append(outer, -1)[np.searchsorted(outer, inner) - 1]
    inner = np.flatnonzero(depth)
    around = parent[inner]
    enclosed = (around >= 0) & (end_ns[around] > start_ns[inner]) & (end_ns[around] >= end_ns[inner])
    return parent if np.all(enclosed & (depth[around] == depth[inner] - 1)) else None


def _parents_one_by_one(start_ns: I64, end_ns: I64) -> I64:
    """Find the parents of intervals of which one may outlast what it began in."""
    parents: list[int] = []
    open_ones: list[int] = []
    ends = end_ns.tolist()
    for at, start in enumerate(start_ns.tolist()):
        while open_ones and ends[open_ones[-1]] <= start:
            open_ones.pop()
        parents.append(open_ones[-1] if open_ones else -1)
        open_ones.append(at)
    return np.array(parents, np.int64)


def nest_by_lane(lane: I32, start_ns: I64, duration_ns: I64, rows: Rows) -> dict[int, Nesting]:
    """Return one Nesting a lane; `rows` (n,) names the operators, the other columns run beside it."""
    order = order_by_code(lane)
    lanes = np.flatnonzero(count := np.bincount(lane))
    pieces = np.split(order, np.cumsum(count[lanes])[:-1])
    return {number: Nesting(start_ns[at], duration_ns[at], rows[at]) for number, at in zip(lanes.tolist(), pieces)}


def find_innermost(threads: dict[int, Nesting], lane: I32, moments_ns: I64) -> I32:
    """Return for each moment on a lane the row of the innermost operator, or -1: (n,)."""
    innermost_rows = np.full(lane.size, -1, np.int32)
    for number in np.unique(lane).tolist():
        if number in threads:
            on_lane = lane == number
            innermost_rows[on_lane] = threads[number].innermost_at(moments_ns[on_lane])
    return innermost_rows
