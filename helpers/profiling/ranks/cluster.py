"""All ranks of a run together: what the rules judge and the tables show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median

import numpy as np

from helpers.profiling.ranks.clocks import Clock, clocks
from helpers.profiling.ranks.facts import RankFacts
from helpers.profiling.ranks.matching import BOOLS, Matches, match
from helpers.profiling.ranks.stages import stages_of
from helpers.profiling.ranks.waiting import NOBODY, Waits, waits
from helpers.profiling.trace import Looked


@dataclass(frozen=True)
class Blame:
    """A rank that another waits for: in milliseconds a step and in `times` of `calls` collectives. `gain_ms`: what is
    saved at most if it came as early as the next. `who`: a rank, NOBODY, or below it a place in Waits.unmapped."""

    who: int
    waiting: int
    wait_ms: float
    gain_ms: float
    times: int
    calls: int


@dataclass(frozen=True)
class Cluster:
    """The ranks by their numbers. `stages` is empty where there is no pipeline."""

    ranks: Mapping[int, RankFacts]
    clocks: Mapping[int, Clock]
    stages: Mapping[int, int]
    matches: Matches
    waits: Waits

    @classmethod
    def of(cls, ranks: Mapping[int, RankFacts]) -> Cluster:
        ordered = dict(sorted(ranks.items()))
        found = clocks(ordered)
        stages = stages_of(ordered)
        matches = match(ordered, {rank: one.ahead_ns for rank, one in found.items() if cls._moves(ordered, one, rank)})
        return cls(ordered, found, stages, matches, waits(ordered, matches, stages))

    @staticmethod
    def _moves(ranks: Mapping[int, RankFacts], clock: Clock, rank: int) -> bool:
        """Ranks of one host have one clock."""
        hosts = {ranks[rank].host, ranks[clock.of].host}
        return clock.apart and not (len(hosts) == 1 and "" not in hosts) and not ranks[rank].simulated

    def moved(self) -> dict[int, Clock]:
        """The clocks that were set right."""
        return {rank: one for rank, one in self.clocks.items() if self._moves(self.ranks, one, rank)}

    @property
    def looked(self) -> dict[int, Looked]:
        """Which steps were looked at, of each rank where these were not all."""
        return {rank: one.looked for rank, one in self.ranks.items() if one.looked}

    @property
    def simulated(self) -> bool:
        return any(one.simulated for one in self.ranks.values())

    @property
    def world_size(self) -> int:
        """How many ranks the run had by all that is told, 0 where nothing is."""
        sizes = (max((one.world_size, *one.sizes.values()), default=0) for one in self.ranks.values())
        return max(sizes, default=0)

    @cached_property
    def step_ms(self) -> float:
        """The median over the ranks of their mean steps."""
        return median(fmean(step.total_ns for step in one.steps) for one in self.ranks.values()) / 1e6

    def ms(self, rank: int, part: str) -> float:
        """The mean of a part a step (facts.RankFacts.per_step_ns), milliseconds."""
        return self.ranks[rank].per_step_ns(part) / 1e6

    def peers(self, rank: int) -> list[int]:
        """The other ranks that do the same work: of its stage."""
        stage = self.stages.get(rank)
        return [other for other in self.ranks if other != rank and self.stages.get(other) == stage]

    @cached_property
    def counted(self) -> BOOLS:
        """The rows of the matches that belong to steps which count."""
        kept = np.zeros(len(self.matches), np.bool_)
        for rank, facts in self.ranks.items():
            mine = self.matches.rank == rank
            steps = facts.calls.step[self.matches.at[mine]]
            kept[mine] = np.isin(steps, [step.number for step in facts.steps])
        return kept

    @cached_property
    def told_whole(self) -> BOOLS:
        """The rows of which all waiting is known: every member's profile is here, or the rank's own tells its waits.
        Of the others what is not waiting for those seen may be waiting for those not seen."""
        found = np.zeros(len(self.matches), np.bool_)
        seen = self._seen if len(self.ranks) == self.world_size else {}
        for rank, facts in self.ranks.items():
            mine = self.matches.rank == rank
            at = self.matches.at[mine]
            sizes = np.array([self.sizes.get(group) or seen.get(group, 0) for group in facts.calls.group], np.int64)[at]
            found[mine] |= (facts.calls.told_wait_ns[at] >= 0) | (self.matches.members[mine] == sizes)
        return found

    @cached_property
    def _seen(self) -> dict[str, int]:
        """The most members that one of the group's collectives was seen with: all there are, where every rank is here.
        A collective with fewer was not recorded by each of them, so that some arrivals are not known."""
        found: dict[str, int] = {}
        for rank, facts in self.ranks.items():
            mine = self.matches.rank == rank
            groups, number = np.unique(np.array(facts.calls.group)[self.matches.at[mine]], return_inverse=True)
            most = np.zeros(groups.size, np.int64)
            np.maximum.at(most, number, self.matches.members[mine])
            found.update((group, max(size, found.get(group, 0))) for group, size in zip(groups.tolist(), most.tolist()))
        return {group: members for group, members in found.items() if members > 1}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """At least how many members each group has, where that is told."""
        found: dict[str, int] = {}
        for one in self.ranks.values():
            found.update((group, max(size, found.get(group, 0))) for group, size in one.sizes.items())
        return found

    def rows_of(self, rank: int, across: bool | None = None) -> BOOLS:
        """The rows of one rank that count; only those across stages, or only those within one."""
        rows = (self.matches.rank == rank) & self.counted
        within: BOOLS = rows if across is None else rows & (self.waits.across == across)
        return within

    def wait_ms(self, rank: int, across: bool | None = None) -> float:
        """What the rank waits in collectives, a step."""
        waited = int(self.waits.wait_ns[self.rows_of(rank, across)].sum())
        return waited / len(self.ranks[rank].steps) / 1e6

    def unseen_ms(self) -> float:
        """The most that a rank spends a step in collectives of which not all waiting is known, beyond what is."""
        found = [0.0]
        for rank, facts in self.ranks.items():
            rows = self.rows_of(rank) & ~self.told_whole
            rest = facts.calls.duration_ns[self.matches.at[rows]] - self.waits.wait_ns[rows]
            found.append(int(rest.sum()) / len(facts.steps) / 1e6)
        return max(found)

    def blames(self) -> list[Blame]:
        """For each rank that is waited for the one that waits longest for it; the costliest first. What pipeline
        stages wait for each other is not counted: that is the pipeline's."""
        found: dict[int, Blame] = {}
        for rank, facts in self.ranks.items():
            rows, steps = self.rows_of(rank, across=False), len(facts.steps)
            for who in np.unique(self.waits.waited_for[rows]).tolist():
                mine = rows & (self.waits.waited_for == who) & (self.waits.wait_ns > 0)
                wait = int(self.waits.wait_ns[mine].sum()) / steps / 1e6
                late = int(self.waits.late_ns[mine].sum()) / steps / 1e6
                gain = min(late, self.ms(rank, "communication"))
                blame = Blame(who, rank, wait, gain, int(mine.sum()), int(rows.sum()))
                if mine.any() and (who not in found or blame.gain_ms > found[who].gain_ms):
                    found[who] = blame
        return sorted(found.values(), key=lambda one: -one.gain_ms)

    def waited_for(self, rank: int) -> int:
        """Whom the rank waits for longest, or NOBODY."""
        rows = self.rows_of(rank)
        found = np.unique(self.waits.waited_for[rows & (self.waits.wait_ns > 0)]).tolist()
        named = [who for who in found if who != NOBODY]
        longest = {who: int(self.waits.wait_ns[rows & (self.waits.waited_for == who)].sum()) for who in named}
        return max(longest, key=longest.__getitem__, default=NOBODY)
