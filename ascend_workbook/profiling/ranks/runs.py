"""Which ranks are of one run. Profiles of two runs in one folder must not be held against each other."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_workbook.profiling.ranks.clocks import compare_clocks
from ascend_workbook.profiling.ranks.facts import RankFacts

#: Clocks of one run are not further apart than this without the ends of their collectives saying by how much
FAR_NS, EXACT_NS = 60 * 10**9, 5_000_000
#: And their steps not, where they share no collective
APART_NS = 600 * 10**9
UNKNOWN_NS = 2**62


def group_ranks_by_run(ranks: Mapping[int, RankFacts]) -> list[list[int]]:
    """Return the ranks by their runs, the largest run first and of equal ones the latest."""
    groups: list[list[int]] = []
    for rank, facts in sorted(ranks.items()):
        own_group = next((run for run in groups if _is_same_run(ranks[run[0]], facts)), None)
        if own_group is None:
            groups.append([rank])
        else:
            own_group.append(rank)
    return sorted(groups, key=lambda run: (len(run), _first_start_ns(ranks[run[0]])), reverse=True)


def _is_same_run(first: RankFacts, other: RankFacts) -> bool:
    if first.world_size and other.world_size and first.world_size != other.world_size:
        return False
    clock = compare_clocks({0: first, 1: other})[1]
    if clock.shared:
        return abs(clock.ahead_ns) < FAR_NS or (clock.shared >= 3 and clock.spread_ns < EXACT_NS)
    times = [
        (_first_start_ns(facts), _first_start_ns(facts) + sum(step.total_ns for step in facts.steps))
        for facts in (first, other)
    ]
    if any(begin >= UNKNOWN_NS for begin, _ in times):
        return True
    return max(begin for begin, _ in times) - min(end for _, end in times) < APART_NS


def _first_start_ns(facts: RankFacts) -> int:
    return min(step.start_ns for step in facts.steps)
