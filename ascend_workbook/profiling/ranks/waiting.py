"""How long each rank waits in collectives and for whom: by the arrivals of all members, and by CANN's own waits.

Where every member's profile is there the arrivals tell it all. Where some are not, what a rank itself recorded does:
an NPU's Notify_Wait names its peer by the number that the group gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.ranks.facts import RankFacts
from ascend_workbook.profiling.ranks.matching import BOOLS, Matches

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


def compute_waits(ranks: Mapping[int, RankFacts], matches: Matches, stages: Mapping[int, int]) -> Waits:
    """Compute the Waits of all rows of the matches."""
    stated_ns, peer, following = (
        _column_of_rows(ranks, matches, name) for name in ("told_wait_ns", "peer", "next_wait_ns")
    )
    named_ranks, unmapped = _map_peers_to_ranks(ranks, matches, peer)
    longer = stated_ns > matches.wait_ns + CLEARLY_NS
    by_told = longer & (named_ranks != NOBODY)
    wait = np.where(longer, stated_ns, matches.wait_ns)
    late = np.where(by_told, np.maximum(stated_ns - np.maximum(following, 0), 0), matches.late_ns)
    by_arrival = np.where((matches.last == matches.rank) | (matches.wait_ns == 0), NOBODY, matches.last)
    waited_for = np.where(
        by_told, named_ranks, np.where(longer & (matches.wait_ns < stated_ns // 2), NOBODY, by_arrival)
    )
    late = np.where(longer & ~by_told & (waited_for == NOBODY), wait, late)
    return Waits(wait, late, waited_for, _mark_across_stages(matches, stages), unmapped)


def _column_of_rows(ranks: Mapping[int, RankFacts], matches: Matches, name: str) -> I64:
    values = np.full(len(matches), -1, np.int64)
    for rank, facts in ranks.items():
        own_rows = matches.rank == rank
        values[own_rows] = getattr(facts.calls, name)[matches.at[own_rows]]
    return values


def _map_peers_to_ranks(
    ranks: Mapping[int, RankFacts], matches: Matches, peer: I64
) -> tuple[I64, tuple[tuple[str, int], ...]]:
    """Return the rank behind each row's peer, which its group numbers in its own way."""
    rank_of_row = np.full(len(matches), NOBODY, np.int64)
    unmapped: dict[tuple[str, int], int] = {}
    known: dict[tuple[str, int], int] = {}
    for row in np.flatnonzero(peer >= 0).tolist():
        peer_key = (ranks[int(matches.rank[row])].calls.group[int(matches.at[row])], int(peer[row]))
        if peer_key not in known:
            peer_rank = find_member(ranks, *peer_key)
            known[peer_key] = (
                FIRST_UNMAPPED - unmapped.setdefault(peer_key, len(unmapped)) if peer_rank is None else peer_rank
            )
        rank_of_row[row] = known[peer_key]
    return rank_of_row, tuple(unmapped)


def find_member(ranks: Mapping[int, RankFacts], group: str, number: int) -> int | None:
    """Return the rank that is this member of the group: one that says so itself, one by the run's own groups, or where
    all members seen have their own rank as number, that number."""
    rank_of_number = {facts.own_number[group]: rank for rank, facts in ranks.items() if group in facts.own_number}
    if number in rank_of_number:
        return rank_of_number[number]
    size = max((facts.sizes.get(group, 0) for facts in ranks.values()), default=0)
    candidates = {
        known_group.members[number]
        for facts in ranks.values()
        for known_group in facts.groups
        if len(known_group.members) == size
        and number < size
        and all(known_group.members[at] == rank for at, rank in rank_of_number.items())
    }
    if len(candidates) == 1:
        return candidates.pop()
    same = len(rank_of_number) > 1 and all(at == rank for at, rank in rank_of_number.items())
    return number if same else None


def _mark_across_stages(matches: Matches, stages: Mapping[int, int]) -> BOOLS:
    if not stages or not len(matches):
        return np.zeros(len(matches), np.bool_)
    stage = np.array([stages[rank] for rank in matches.rank.tolist()], np.int64)
    count = int(matches.collective.max()) + 1
    least, most = np.full(count, 2**31, np.int64), np.full(count, -1, np.int64)
    np.minimum.at(least, matches.collective, stage)
    np.maximum.at(most, matches.collective, stage)
    crossing: BOOLS = (least < most)[matches.collective]
    return crossing
