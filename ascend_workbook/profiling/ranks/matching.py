"""Each collective over its members: who arrived last, how long each of the others waited, how long it then took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.ranks.facts import RankFacts

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
    """Return for each row, of its collective: the last arrival, whose it was, and the last but one (the same where
    alone).
    """
    order = np.lexsort((start, collective))
    sorted_by = collective[order]
    end = np.flatnonzero(np.append(sorted_by[1:] != sorted_by[:-1], True))
    begin = np.concatenate(([0], end[:-1] + 1))
    before = order[np.maximum(end - 1, begin)]
    at = np.searchsorted(sorted_by[end], collective)
    return start[order[end]][at], rank[order[end]][at], start[before][at]
