"""Which operator encloses which: innermost operator at a moment, and self time. Operators of a thread nest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.profiling.intervals import I64


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

    def inherited(self, values: Sequence[str]) -> dict[int, str]:
        """Row -> its value, or where that is empty the value of the nearest operator around it that has one."""
        found: dict[int, str] = {}
        for row, parent in zip(self.rows, self.parent):
            found[row] = values[row] or (found[self.rows[parent]] if parent >= 0 else "")
        return found

    def self_ns(self) -> dict[int, int]:
        """Row -> its duration without what its direct children take."""
        own = (self.end_ns - self.start_ns).tolist()
        for at, above in enumerate(self.parent):
            if above >= 0:
                inside = min(int(self.end_ns[at]), int(self.end_ns[above])) - int(self.start_ns[at])
                own[above] -= max(0, inside)
        return dict(zip(self.rows, own))


def nestings(
    lanes: Sequence[str], start_ns: Sequence[int], duration_ns: Sequence[int], rows: Sequence[int]
) -> dict[str, Nesting]:
    """One Nesting a lane; `rows` names the operators, the other columns run beside it."""
    places: dict[str, list[int]] = {}
    for at, lane in enumerate(lanes):
        places.setdefault(lane, []).append(at)
    start, duration = np.array(start_ns, np.int64), np.array(duration_ns, np.int64)
    return {lane: Nesting(start[at], duration[at], [rows[one] for one in at]) for lane, at in places.items()}
