"""How far the clocks of two ranks are apart: the members of a collective finish together, whatever their clocks say.

The median over the collectives that two ranks share says how far, the median of what is left around it how well. A
difference is taken off only where it is long and sure: on one host, or with clocks kept equal, there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.ranks.calls import finishes_together
from ascend_workbook.profiling.ranks.facts import RankFacts

#: Shorter differences, and those that are not this many times the spread, are left alone
WORTH_NS, SURE = 1_000_000, 3


@dataclass(frozen=True)
class Clock:
    """How far a rank's clock is ahead of that of the rank `of`, by the ends of `shared` collectives, nanoseconds."""

    of: int
    ahead_ns: int
    spread_ns: int
    shared: int

    @property
    def is_apart(self) -> bool:
        """Return whether the difference is long and sure enough to be taken off."""
        return abs(self.ahead_ns) >= WORTH_NS and abs(self.ahead_ns) > SURE * self.spread_ns


def compare_clocks(ranks: Mapping[int, RankFacts]) -> dict[int, Clock]:
    """Compare, for each rank that shares collectives with another, its clock with the first such rank's."""
    ends = {rank: _ends_by_key(facts) for rank, facts in ranks.items()}
    clock_of_rank: dict[int, Clock] = {}
    remaining = sorted(ends)
    while remaining:
        reached = [remaining.pop(0)]
        clock_of_rank[reached[0]] = Clock(reached[0], 0, 0, 0)
        for known_rank in reached:  # grows: a rank that shares none with the first may share some with one that does
            near = [rank for rank in remaining if not ends[rank].keys().isdisjoint(ends[known_rank].keys())]
            clock_of_rank.update(
                (rank, _compare_with_clock(ends[rank], ends[known_rank], clock_of_rank[known_rank])) for rank in near
            )
            reached += near
            remaining = [rank for rank in remaining if rank not in clock_of_rank]
    return clock_of_rank


def _ends_by_key(facts: RankFacts) -> dict[str, int]:
    calls = facts.calls
    return {key: end for key, end, kind in zip(calls.key, calls.end_ns.tolist(), calls.kind) if finishes_together(kind)}


def _compare_with_clock(own_ends: dict[str, int], known_ends: dict[str, int], known: Clock) -> Clock:
    apart: I64 = np.array([own_ends[key] - known_ends[key] for key in own_ends.keys() & known_ends.keys()], np.int64)
    ahead = int(np.median(apart))
    spread = int(np.median(np.abs(apart - ahead)))
    return Clock(known.of, ahead + known.ahead_ns, max(spread, known.spread_ns), apart.size)
