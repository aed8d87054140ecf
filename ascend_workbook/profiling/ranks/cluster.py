"""All ranks of a run together: what the rules judge and the tables show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median

import numpy as np

from ascend_workbook.profiling.ranks import waiting
from ascend_workbook.profiling.ranks.facts import RankFacts, is_pairwise
from ascend_workbook.profiling.ranks.waiting import BOOLS, NOBODY
from ascend_workbook.profiling.trace import Looked


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
    clocks: Mapping[int, waiting.Clock]
    stages: Mapping[int, int]
    matches: waiting.Matches
    waits: waiting.Waits

    @classmethod
    def from_ranks(cls, ranks: Mapping[int, RankFacts]) -> Cluster:
        ordered = dict(sorted(ranks.items()))
        clock_of_rank = waiting.compare_clocks(ordered)
        stages = stages_of(ordered)
        shifts = {
            rank: clock.ahead_ns
            for rank, clock in clock_of_rank.items()
            if cls._needs_clock_shift(ordered, clock, rank)
        }
        matches = waiting.match_calls(ordered, shifts)
        return cls(ordered, clock_of_rank, stages, matches, waiting.compute_waits(ordered, matches, stages))

    @staticmethod
    def _needs_clock_shift(ranks: Mapping[int, RankFacts], clock: waiting.Clock, rank: int) -> bool:
        """Return whether the rank's clock is to be set right; ranks of one host have one clock."""
        hosts = {ranks[rank].host, ranks[clock.of].host}
        return clock.is_apart and not (len(hosts) == 1 and "" not in hosts) and not ranks[rank].simulated

    def shifted_clocks(self) -> dict[int, waiting.Clock]:
        """Return the clocks that were set right, by rank."""
        return {rank: clock for rank, clock in self.clocks.items() if self._needs_clock_shift(self.ranks, clock, rank)}

    @property
    def chosen_steps(self) -> dict[int, Looked]:
        """Return which steps were looked at, of each rank where these were not all."""
        return {rank: facts.looked for rank, facts in self.ranks.items() if facts.looked}

    @property
    def is_simulated(self) -> bool:
        return any(facts.simulated for facts in self.ranks.values())

    @property
    def world_size(self) -> int:
        """Return how many ranks the run had by all that is told, 0 where nothing is."""
        sizes = (max((facts.world_size, *facts.sizes.values()), default=0) for facts in self.ranks.values())
        return max(sizes, default=0)

    @cached_property
    def step_ms(self) -> float:
        """Return the median over the ranks of their mean steps."""
        return median(fmean(step.total_ns for step in facts.steps) for facts in self.ranks.values()) / 1e6

    def mean_part_ms(self, rank: int, part: str) -> float:
        """Return the mean of a part of the step (facts.RankFacts.per_step_ns), in milliseconds."""
        return self.ranks[rank].per_step_ns(part) / 1e6

    def find_peers(self, rank: int) -> list[int]:
        """Return the other ranks that do the same work: those of the same pipeline stage."""
        stage = self.stages.get(rank)
        return [other for other in self.ranks if other != rank and self.stages.get(other) == stage]

    @cached_property
    def counted_rows(self) -> BOOLS:
        """Return the rows of the matches that belong to steps which count."""
        is_counted = np.zeros(len(self.matches), np.bool_)
        for rank, facts in self.ranks.items():
            own_rows = self.matches.rank == rank
            steps = facts.calls.step[self.matches.at[own_rows]]
            is_counted[own_rows] = np.isin(steps, [step.number for step in facts.steps])
        return is_counted

    @cached_property
    def fully_known_rows(self) -> BOOLS:
        """Return the rows of which all waiting is known: every member's profile is here, or the rank's own tells its
        waits. Of the others what is not waiting for those seen may be waiting for those not seen."""
        is_known = np.zeros(len(self.matches), np.bool_)
        seen_sizes = self._most_members_seen if len(self.ranks) == self.world_size else {}
        for rank, facts in self.ranks.items():
            own_rows = self.matches.rank == rank
            at = self.matches.at[own_rows]
            sizes = np.array(
                [self.group_sizes.get(group) or seen_sizes.get(group, 0) for group in facts.calls.group], np.int64
            )[at]
            is_known[own_rows] |= (facts.calls.told_wait_ns[at] >= 0) | (self.matches.members[own_rows] == sizes)
        return is_known

    @cached_property
    def _most_members_seen(self) -> dict[str, int]:
        """Return the most members that one of the group's collectives was seen with: all there are, where every rank is
        here. A collective with fewer was not recorded by each of them, so that some arrivals are not known."""
        members_of_group: dict[str, int] = {}
        for rank, facts in self.ranks.items():
            own_rows = self.matches.rank == rank
            groups, number = np.unique(np.array(facts.calls.group)[self.matches.at[own_rows]], return_inverse=True)
            most = np.zeros(groups.size, np.int64)
            np.maximum.at(most, number, self.matches.members[own_rows])
            members_of_group.update(
                (group, max(size, members_of_group.get(group, 0)))
                for group, size in zip(groups.tolist(), most.tolist())
            )
        return {group: members for group, members in members_of_group.items() if members > 1}

    @cached_property
    def group_sizes(self) -> dict[str, int]:
        """Return at least how many members each group has, where that is told."""
        size_of_group: dict[str, int] = {}
        for facts in self.ranks.values():
            size_of_group.update((group, max(size, size_of_group.get(group, 0))) for group, size in facts.sizes.items())
        return size_of_group

    def rows_of(self, rank: int, across: bool | None = None) -> BOOLS:
        """Return the rows of one rank that count; only those across stages, or only those within one."""
        rows = (self.matches.rank == rank) & self.counted_rows
        within: BOOLS = rows if across is None else rows & (self.waits.across == across)
        return within

    def wait_ms(self, rank: int, across: bool | None = None) -> float:
        """Return what the rank waits in collectives, in milliseconds a step."""
        return int(self.waits.wait_ns[self.rows_of(rank, across)].sum()) / len(self.ranks[rank].steps) / 1e6

    def unseen_ms(self) -> float:
        """Return the most that a rank spends a step in collectives whose waiting is not all known, beyond what is."""
        unseen_ms_of_ranks = [0.0]
        for rank, facts in self.ranks.items():
            rows = self.rows_of(rank) & ~self.fully_known_rows
            rest = facts.calls.duration_ns[self.matches.at[rows]] - self.waits.wait_ns[rows]
            unseen_ms_of_ranks.append(int(rest.sum()) / len(facts.steps) / 1e6)
        return max(unseen_ms_of_ranks)

    def find_blames(self) -> list[Blame]:
        """Find for each rank that is waited for the one that waits longest for it; the costliest first. What pipeline
        stages wait for each other is not counted: that is the pipeline's."""
        blame_of_rank: dict[int, Blame] = {}
        for rank, facts in self.ranks.items():
            rows, steps = self.rows_of(rank, across=False), len(facts.steps)
            for who in np.unique(self.waits.waited_for[rows]).tolist():
                blamed_rows = rows & (self.waits.waited_for == who) & (self.waits.wait_ns > 0)
                wait = int(self.waits.wait_ns[blamed_rows].sum()) / steps / 1e6
                late = int(self.waits.late_ns[blamed_rows].sum()) / steps / 1e6
                gain = min(late, self.mean_part_ms(rank, "communication"))
                blame = Blame(who, rank, wait, gain, int(blamed_rows.sum()), int(rows.sum()))
                if blamed_rows.any() and (who not in blame_of_rank or blame.gain_ms > blame_of_rank[who].gain_ms):
                    blame_of_rank[who] = blame
        return sorted(blame_of_rank.values(), key=lambda entry: -entry.gain_ms)

    def find_longest_awaited(self, rank: int) -> int:
        """Return the rank that this rank waits for longest, or NOBODY."""
        rows = self.rows_of(rank)
        awaited_ranks = np.unique(self.waits.waited_for[rows & (self.waits.wait_ns > 0)]).tolist()
        known_ranks = [who for who in awaited_ranks if who != NOBODY]
        longest = {who: int(self.waits.wait_ns[rows & (self.waits.waited_for == who)].sum()) for who in known_ranks}
        return max(longest, key=longest.__getitem__, default=NOBODY)


PIPELINE = ("pp", "pipeline_parallel", "pipeline")


def stages_of(ranks: Mapping[int, RankFacts]) -> dict[int, int]:
    """Return the pipeline stage of each rank, counted from 0; empty where nothing tells of a pipeline. Groups called pp
    list their ranks from the first stage to the last. Without them the ranks that send to each other make a pipeline,
    in order of rank, as Megatron and torch.distributed.pipelining number them."""
    by_groups = {
        rank: group.members.index(rank)
        for rank, facts in ranks.items()
        for group in facts.groups
        if group.name.lower() in PIPELINE and rank in group.members and len(group.members) > 1
    }
    stage_of_rank = by_groups or _stages_by_sending(ranks)
    return stage_of_rank if stage_of_rank.keys() == ranks.keys() and len(set(stage_of_rank.values())) > 1 else {}


def _stages_by_sending(ranks: Mapping[int, RankFacts]) -> dict[int, int]:
    together: dict[int, set[int]] = {rank: {rank} for rank in ranks}
    groups: dict[str, set[int]] = {}
    for rank, facts in ranks.items():
        for group, kind in set(zip(facts.calls.group, facts.calls.kind)):
            if group and is_pairwise(kind):
                groups.setdefault(group, set()).add(rank)
    for members in groups.values():
        joined = set().union(*(together[rank] for rank in members))
        for rank in joined:
            together[rank] = joined
    lengths = {len(joined) for joined in together.values()}
    return {rank: sorted(joined).index(rank) for rank, joined in together.items()} if len(lengths) == 1 else {}
