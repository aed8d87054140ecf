"""Ranks made by hand: `rank_of(0, computing=5, calls=[("allReduce", start, duration)])`, all in milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import LANGUAGES
from ascend_workbook.profiling.breakdown import PARTS
from ascend_workbook.profiling.ranks import rules
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.facts import Call, RankFacts, StepParts, collect_call_columns

MS = 1_000_000
LENGTH = 100


def make_rank(
    rank: int,
    calls: Sequence[tuple[Any, ...]] = (),
    *,
    steps: int = 1,
    ahead_ms: float = 0,
    group: str = "g",
    jitter: Sequence[float] = (),
    more: dict[str, Any] | None = None,
    **parts: float,
) -> RankFacts:
    """Steps of 100 ms, each with the same calls (kind, start, duration[, group]) in it; what the parts leave is free.
    `jitter` lengthens each step's free time."""
    made, found = [], []
    for number in range(steps):
        start = number * LENGTH + ahead_ms
        extra = jitter[number] if jitter else 0.0
        parts_ns = {part: round(parts.get(part, 0) * MS) for part in PARTS}
        parts_ns["free"] = round((LENGTH + extra) * MS) - sum(parts_ns.values())
        made.append(StepParts(number, round(start * MS), sum(parts_ns.values()), parts_ns))
        for at, (kind, begin, duration, *of) in enumerate(calls):
            name = of[0] if of else group
            key = f"{number} {name} {kind} {at}"
            found.append(Call(key, kind, name, number, round((start + begin) * MS), round(duration * MS)))
    return RankFacts(rank, f"rank{rank}", tuple(made), collect_call_columns(found), tier="npu", **(more or {}))


@pytest.fixture
def rank_of() -> Callable[..., RankFacts]:
    return make_rank


def together(*ranks: RankFacts) -> Cluster:
    return Cluster.from_ranks({one.rank: one for one in ranks})


def judged(cluster: Cluster, code: str) -> list[Finding]:
    """What one rule says of them; every sentence reads in both languages."""
    found = [one for one in judge_facts(cluster, rules_of(rules), strict=True) if one.rule == code]
    assert all(one.message(lang) + one.hint(lang) for one in found for lang in LANGUAGES)
    return found
