"""How long each rank waits in collectives and for whom: by the arrivals of all members, and by CANN's own waits.

Where every member's profile is there the arrivals tell it all. Where some are not, what a rank itself recorded does:
an NPU's Notify_Wait names its peer by the number that the group gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from helpers.profiling.intervals import I64
from helpers.profiling.ranks.facts import RankFacts
from helpers.profiling.ranks.matching import BOOLS, Matches

NOBODY = -1
FIRST_UNMAPPED = -2
#: CANN's waits begin some microseconds after the call: only what is clearly longer than the arrivals tell counts more
CLEARLY_NS = 50_000


@dataclass(frozen=True)
class Waits:
    """Columns (n,) beside those of the Matches: `wait_ns` in the call; `late_ns` what of it would be saved if the one
    waited for had come as early as the next; `waited_for` its rank, NOBODY where not told, from -2 downwards a place in
    `unmapped`, which has (group, the member's number there). `across` marks collectives between pipeline stages."""

    wait_ns: I64
    late_ns: I64
    waited_for: I64
    across: BOOLS
    unmapped: tuple[tuple[str, int], ...]


def waits(ranks: Mapping[int, RankFacts], matches: Matches, stages: Mapping[int, int]) -> Waits:
    """The Waits of all rows of the matches."""
    told, peer, following = (_column(ranks, matches, name) for name in ("told_wait_ns", "peer", "next_wait_ns"))
    named, unmapped = _named(ranks, matches, peer)
    longer = told > matches.wait_ns + CLEARLY_NS
    by_told = longer & (named != NOBODY)
    wait = np.where(longer, told, matches.wait_ns)
    late = np.where(by_told, np.maximum(told - np.maximum(following, 0), 0), matches.late_ns)
    seen = np.where((matches.last == matches.rank) | (matches.wait_ns == 0), NOBODY, matches.last)
    waited_for = np.where(by_told, named, np.where(longer & (matches.wait_ns < told // 2), NOBODY, seen))
    late = np.where(longer & ~by_told & (waited_for == NOBODY), wait, late)
    return Waits(wait, late, waited_for, _across(matches, stages), unmapped)


def _column(ranks: Mapping[int, RankFacts], matches: Matches, name: str) -> I64:
    found = np.full(len(matches), -1, np.int64)
    for rank, facts in ranks.items():
        mine = matches.rank == rank
        found[mine] = getattr(facts.calls, name)[matches.at[mine]]
    return found


def _named(ranks: Mapping[int, RankFacts], matches: Matches, peer: I64) -> tuple[I64, tuple[tuple[str, int], ...]]:
    """The rank behind each row's peer, which its group numbers in its own way."""
    named = np.full(len(matches), NOBODY, np.int64)
    unmapped: dict[tuple[str, int], int] = {}
    known: dict[tuple[str, int], int] = {}
    for row in np.flatnonzero(peer >= 0).tolist():
        one = (ranks[int(matches.rank[row])].calls.group[int(matches.at[row])], int(peer[row]))
        if one not in known:
            found = member(ranks, *one)
            known[one] = FIRST_UNMAPPED - unmapped.setdefault(one, len(unmapped)) if found is None else found
        named[row] = known[one]
    return named, tuple(unmapped)


def member(ranks: Mapping[int, RankFacts], group: str, number: int) -> int | None:
    """The rank that is this member of the group: one that says so itself, one by the run's own groups, or where all
    members seen have their own rank as number, that number."""
    seen = {facts.own_number[group]: rank for rank, facts in ranks.items() if group in facts.own_number}
    if number in seen:
        return seen[number]
    size = max((facts.sizes.get(group, 0) for facts in ranks.values()), default=0)
    told = {
        one.members[number]
        for facts in ranks.values()
        for one in facts.groups
        if len(one.members) == size and number < size and all(one.members[at] == rank for at, rank in seen.items())
    }
    if len(told) == 1:
        return told.pop()
    same = len(seen) > 1 and all(at == rank for at, rank in seen.items())
    return number if same else None


def _across(matches: Matches, stages: Mapping[int, int]) -> BOOLS:
    if not stages or not len(matches):
        return np.zeros(len(matches), np.bool_)
    stage = np.array([stages[rank] for rank in matches.rank.tolist()], np.int64)
    count = int(matches.collective.max()) + 1
    least, most = np.full(count, 2**31, np.int64), np.full(count, -1, np.int64)
    np.minimum.at(least, matches.collective, stage)
    np.maximum.at(most, matches.collective, stage)
    crossing: BOOLS = (least < most)[matches.collective]
    return crossing
