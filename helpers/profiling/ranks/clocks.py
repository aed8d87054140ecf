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
        first = left.pop(0)
        found[first] = Clock(first, 0, 0, 0)
        reached = [first]
        while near := [(len(ends[a].keys() & ends[b].keys()), -b, a) for a in reached for b in left]:
            shared, minus, known = max(near)
            if not shared:
                break
            found[-minus] = _against(ends[-minus], ends[known], found[known])
            reached.append(-minus)
            left.remove(-minus)
    return found


def _ends(facts: RankFacts) -> dict[str, int]:
    calls = facts.calls
    return {key: end for key, end, kind in zip(calls.key, calls.end_ns.tolist(), calls.kind) if together(kind)}


def _against(mine: dict[str, int], other: dict[str, int], known: Clock) -> Clock:
    apart: I64 = np.array([mine[key] - other[key] for key in mine.keys() & other.keys()], np.int64)
    ahead = int(np.median(apart))
    spread = int(np.median(np.abs(apart - ahead)))
    return Clock(known.of, ahead + known.ahead_ns, max(spread, known.spread_ns), apart.size)
