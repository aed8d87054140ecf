"""How long each rank waits in collectives and for whom: by the arrivals of all members, and by CANN's own waits.

Where every member's profile is there the arrivals tell it all. Where some are not, what a rank itself recorded does:
an NPU's Notify_Wait names its peer by the number that the group gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.ranks.facts import RankFacts, finishes_together

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
    ends: dict[int, dict[str, int]] = {}  # of each rank by key, of collectives whose members finish together
    for rank, calls in ((rank, facts.calls) for rank, facts in ranks.items()):
        columns = zip(calls.key, calls.end_ns.tolist(), calls.kind)
        ends[rank] = {key: end for key, end, kind in columns if finishes_together(kind)}
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


def _compare_with_clock(own_ends: dict[str, int], known_ends: dict[str, int], known: Clock) -> Clock:
    apart: I64 = np.array([own_ends[key] - known_ends[key] for key in own_ends.keys() & known_ends.keys()], np.int64)
    ahead = int(np.median(apart))
    spread = int(np.median(np.abs(apart - ahead)))
    return Clock(known.of, ahead + known.ahead_ns, max(spread, known.spread_ns), apart.size)


#: Ends and beginnings of one moment differ by what clocks that agree still differ by
SLACK_NS = 50_000
BOOLS = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Matches:
    """A row per rank and collective: columns (n,). `rank` is the member's, `at` its row in that rank's calls,
    `collective` counts the collectives. `wait_ns`: from its arrival to the last one's; `last`: the rank that arrived
    last, -1 where no other member was found; `late_ns`: of that wait what the last one's lead over the last but one
    makes, so no more would be saved if it came as early as that. Waits are no longer than the call itself."""

    rank: I64
    at: I64
    collective: I64
    members: I64
    wait_ns: I64
    last: I64
    late_ns: I64

    def __len__(self) -> int:
        return int(self.rank.size)


def match_calls(ranks: Mapping[int, RankFacts], offsets_ns: Mapping[int, int]) -> Matches:
    """Join the calls of all ranks by their keys; `offsets_ns` are taken off a rank's times first."""
    if not any(len(rank_facts.calls) for rank_facts in ranks.values()):
        return Matches(*(np.empty(0, np.int64) for _ in range(7)))
    numbers: dict[str, int] = {}
    columns = []
    for rank, facts in ranks.items():
        calls = facts.calls
        collective = np.array([numbers.setdefault(key, len(numbers)) for key in calls.key], np.int64)
        count, start = len(calls), calls.start_ns - offsets_ns.get(rank, 0)
        columns.append((np.full(count, rank), np.arange(count), collective, start, calls.duration_ns))
    rank_of, at, collective, start, duration = (np.concatenate(part).astype(np.int64) for part in zip(*columns))
    collective = _split_chance_matches(collective, start, start + duration)
    members = np.bincount(collective)[collective]
    last_start, last, second = _last_two(collective, start, rank_of)
    wait = np.clip(last_start - start, 0, duration)
    late = np.minimum(wait, last_start - second)
    alone = members < 2
    return Matches(
        rank_of, at, collective, members, np.where(alone, 0, wait), np.where(alone, -1, last), np.where(alone, 0, late)
    )


def _split_chance_matches(collective: I64, start: I64, end: I64) -> I64:
    """Give each call of a broken collective a number of its own; the members of one collective are all in it at some
    moment. Calls that are not were numbered alike by chance: each becomes one of its own."""
    count = int(collective.max()) + 1
    latest, earliest = np.full(count, -(2**62), np.int64), np.full(count, 2**62, np.int64)
    np.maximum.at(latest, collective, start)
    np.minimum.at(earliest, collective, end)
    broken = (latest > earliest + SLACK_NS)[collective]
    collectives: I64 = collective.copy()
    collectives[broken] = count + np.arange(int(broken.sum()))
    return collectives


def _last_two(collective: I64, start: I64, rank: I64) -> tuple[I64, I64, I64]:
    """Return for each row its collective's last arrival, whose it was, and the last but one (the same where alone)."""
    order = np.lexsort((start, collective))
    sorted_by = collective[order]
    end = np.flatnonzero(np.append(sorted_by[1:] != sorted_by[:-1], True))
    before = order[np.maximum(end - 1, np.concatenate(([0], end[:-1] + 1)))]
    at = np.searchsorted(sorted_by[end], collective)
    return start[order[end]][at], rank[order[end]][at], start[before][at]


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
