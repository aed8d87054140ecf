"""Which operator encloses which: innermost operator at a moment, and self time. Operators of a thread nest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.profiling.intervals import I64

I32 = npt.NDArray[np.int32]


class Nesting:
    """The operators of one thread, nested by their times. Columns int64 (n,) in nanoseconds."""

    def __init__(self, start_ns: I64, duration_ns: I64, rows: Sequence[int]) -> None:
        order = np.lexsort((-duration_ns, start_ns))
        self.start_ns = start_ns[order]
        self.end_ns = self.start_ns + duration_ns[order]
        self.rows = [rows[at] for at in order.tolist()]
        self.parent = self._parents()

    def _parents(self) -> list[int]:
        parents: list[int] = []
        open_ones: list[int] = []
        ends = self.end_ns.tolist()
        for at, start in enumerate(self.start_ns.tolist()):
            while open_ones and ends[open_ones[-1]] <= start:
                open_ones.pop()
            parents.append(open_ones[-1] if open_ones else -1)
            open_ones.append(at)
        return parents

    def innermost(self, moment_ns: int) -> int:
        """The row of the innermost operator going on at the moment, or -1."""
        at = int(np.searchsorted(self.start_ns, moment_ns, "right")) - 1
        while at >= 0 and self.end_ns[at] < moment_ns:
            at = self.parent[at]
        return self.rows[at] if at >= 0 else -1

    def innermost_at(self, moments_ns: I64) -> I32:
        """The same for many moments: (n,) rows or -1."""
        at = np.searchsorted(self.start_ns, moments_ns, "right") - 1
        parent = np.array([*self.parent, -1], np.int64)
        ends = np.append(self.end_ns, np.int64(2**63 - 1))  # at -1: nothing encloses it, which ends the search
        while (early := ends[at] < moments_ns).any():
            at = np.where(early, parent[at], at)
        return np.array([*self.rows, -1], np.int32)[at]

    def inherit(self, values: I32, bare: Sequence[bool], wanted: I32) -> None:
        """In `values` (one a row, counting in `bare`): each wanted row of these that is bare gets the value of the
        nearest operator around it that is not."""
        for at in np.flatnonzero(np.isin(self.rows, wanted)).tolist():
            above = at
            while above >= 0 and bare[values[self.rows[above]]]:
                above = self.parent[above]
            if above >= 0:
                values[self.rows[at]] = values[self.rows[above]]

    def self_ns(self) -> dict[int, int]:
        """Row -> its duration without what its direct children take."""
        own = (self.end_ns - self.start_ns).tolist()
        for at, above in enumerate(self.parent):
            if above >= 0:
                inside = min(int(self.end_ns[at]), int(self.end_ns[above])) - int(self.start_ns[at])
                own[above] -= max(0, inside)
        return dict(zip(self.rows, own))


def nestings(lane: I32, start_ns: I64, duration_ns: I64, rows: npt.NDArray[np.integer[Any]]) -> dict[int, Nesting]:
    """One Nesting a lane; `rows` (n,) names the operators, the other columns run beside it."""
    order = np.argsort(lane, kind="stable")
    lanes, first = np.unique(lane[order], return_index=True)
    pieces = np.split(order, first[1:])
    return {
        number: Nesting(start_ns[at], duration_ns[at], rows[at].tolist()) for number, at in zip(lanes.tolist(), pieces)
    }


def innermost(threads: dict[int, Nesting], lane: I32, moments_ns: I64) -> I32:
    """For each moment on a lane the row of the innermost operator, or -1: (n,)."""
    found = np.full(lane.size, -1, np.int32)
    for number in np.unique(lane).tolist():
        if number in threads:
            there = lane == number
            found[there] = threads[number].innermost_at(moments_ns[there])
    return found
