"""The strategies that fit, by step time; those whose difference a range cannot tell stand in one rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.planning.strategy.candidates import Space, find_candidates
from ascend_workbook.planning.strategy.choice import Setting, Strategy
from ascend_workbook.planning.strategy.memory import Memory, estimate_memory, judge_total
from ascend_workbook.planning.strategy.timing import Step, compare_steps, estimate_step

#: How many are proposed.
SHOWN = 3


@dataclass(frozen=True)
class Judged:
    """A strategy with its memory and step. `rank` counts from 1; all of one rank are equal as far as this can tell.
    `beside` is its step over the first's; `rehearsed` are the bytes that a rehearsal of its fullest card gave."""

    strategy: Strategy
    memory: Memory
    step: Step
    verdict: str
    rank: int = 1
    beside: Range = Range(1.0, 1.0, 1.0)
    rehearsed: float | None = None

    @property
    def total(self) -> Range:
        """Return the bytes that the process would take of the fullest card: rehearsed ones, else the formula's."""
        if self.rehearsed is None:
            return self.memory.total
        return Range.exactly(self.rehearsed).plus(self.memory.outside)


@dataclass(frozen=True)
class Ranking:
    """What was judged: those that fit (or may), in order, and what was left out. `least` needs least memory of all,
    where none fits."""

    fitting: tuple[Judged, ...]
    space: Space
    too_large: int
    least: Judged | None = None

    @property
    def first(self) -> tuple[Judged, ...]:
        """Return what is proposed: the first of each combination of degrees, so that no two are nearly the same."""
        kinds: dict[tuple[int, ...], Judged] = {}
        for judged in self.fitting:
            kinds.setdefault(judged.strategy.degrees, judged)
        return tuple(kinds.values())[:SHOWN]

    @property
    def equal(self) -> tuple[Judged, ...]:
        """Return all of the first rank."""
        return tuple(judged for judged in self.fitting if judged.rank == 1)


#: Given the setting and the first candidates, returns for each the bytes that PyTorch held on its fullest card in a
#: rehearsal, None where it was not rehearsed
Rehearse = Callable[[Setting, Sequence[Strategy]], Sequence[Optional[float]]]


def rank_strategies(setting: Setting, basis: Basis) -> Ranking:
    """Judge every candidate by formula and put those that fit in order."""
    space = find_candidates(setting)
    judged, too_large, least = [], 0, None
    for strategy in space.candidates:
        memory = estimate_memory(setting, strategy)
        verdict = memory.judge(setting.memory_bytes)
        if verdict == "not":
            too_large += 1
            if least is None or memory.total.middle < least[1].total.middle:
                least = strategy, memory
            continue
        judged.append(Judged(strategy, memory, estimate_step(setting, strategy, basis), verdict))
    smallest = None
    if least is not None and not judged:
        strategy, memory = least
        smallest = Judged(strategy, memory, estimate_step(setting, strategy, basis), "not")
    return Ranking(put_in_order(judged), space, too_large, smallest)


def put_in_order(judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """Return them in ranks. A rank is opened by the fastest that is left; whatever may be as fast as that is equal to
    it. Within a rank those that surely fit stand first, then those that could lose least against the fastest: not the
    likeliest time, which says nothing there."""
    left, ranked, rank = sorted(judged, key=lambda item: item.step.total.middle), [], 1
    fastest = left[0].step if left else None
    while left and fastest is not None:
        opener = left[0].step
        same = [item for item in left if compare_steps(item.step, opener).low <= 1.0]
        same_ids = set(map(id, same))
        compared = [replace(item, rank=rank, beside=compare_steps(item.step, fastest)) for item in same]
        ranked += sorted(
            compared, key=lambda item: (item.verdict != "fits", item.beside.high, item.memory.total.middle)
        )
        left = [item for item in left if id(item) not in same_ids]
        rank += 1
    return tuple(ranked)


def decide_by_rehearsing(ranking: Ranking, setting: Setting, rehearse: Rehearse) -> Ranking:
    """Return the ranking whose first candidates were rehearsed: the peak that a rehearsal gives stands in place of the
    formula's, and one that then does not fit is taken out. The next in order move up, unrehearsed."""
    peaks = rehearse(setting, [judged.strategy for judged in ranking.first])
    fitting, rehearsed = [], {judged.strategy: peak for judged, peak in zip(ranking.first, peaks)}
    for judged in ranking.fitting:
        peak = rehearsed.get(judged.strategy)
        if peak is None:
            fitting.append(judged)
            continue
        decided = replace(judged, rehearsed=peak)
        verdict = judge_total(decided.total, setting.memory_bytes)
        if verdict != "not":
            fitting.append(replace(decided, verdict=verdict))
    return replace(ranking, fitting=tuple(fitting))
