"""How far the clocks of two ranks are apart: the members of a collective finish together, whatever their clocks say.

The median over the collectives that two ranks share says how far, the median of what is left around it how well. A
difference is taken off only where it is long and sure: on one host, or with clocks kept equal, there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from helpers.profiling.intervals import I64
from helpers.profiling.ranks.calls import together
from helpers.profiling.ranks.facts import RankFacts

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
    def apart(self) -> bool:
        """Whether it is long and sure enough to be taken off."""
        return abs(self.ahead_ns) >= WORTH_NS and abs(self.ahead_ns) > SURE * self.spread_ns


def clocks(ranks: Mapping[int, RankFacts]) -> dict[int, Clock]:
    """For each rank that shares collectives with another its clock against the first such rank's."""
    ends = {rank: _ends(facts) for rank, facts in ranks.items()}
    found: dict[int, Clock] = {}
    left = sorted(ends)
    while left:
        reached = [left.pop(0)]
        found[reached[0]] = Clock(reached[0], 0, 0, 0)
        for known in reached:  # grows: a rank that shares none with the first may share some with one that does
            near = [rank for rank in left if not ends[rank].keys().isdisjoint(ends[known].keys())]
            found.update((rank, _against(ends[rank], ends[known], found[known])) for rank in near)
            reached += near
            left = [rank for rank in left if rank not in found]
    return found


def _ends(facts: RankFacts) -> dict[str, int]:
    calls = facts.calls
    return {key: end for key, end, kind in zip(calls.key, calls.end_ns.tolist(), calls.kind) if together(kind)}


def _against(mine: dict[str, int], other: dict[str, int], known: Clock) -> Clock:
    apart: I64 = np.array([mine[key] - other[key] for key in mine.keys() & other.keys()], np.int64)
    ahead = int(np.median(apart))
    spread = int(np.median(np.abs(apart - ahead)))
    return Clock(known.of, ahead + known.ahead_ns, max(spread, known.spread_ns), apart.size)
