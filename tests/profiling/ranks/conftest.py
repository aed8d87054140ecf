"""Ranks made by hand: `rank_of(0, computing=5, calls=[("allReduce", start, duration)])`, all in milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from helpers.finding import Finding
from helpers.profiling.breakdown import PARTS
from helpers.profiling.ranks import rules
from helpers.profiling.ranks.calls import Call, columns
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.facts import RankFacts, StepParts
from helpers.rules import judge, rules_of
from helpers.words import LANGUAGES

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
    return RankFacts(rank, f"rank{rank}", tuple(made), columns(found), tier="npu", **(more or {}))


@pytest.fixture
def rank_of() -> Callable[..., RankFacts]:
    return make_rank


def together(*ranks: RankFacts) -> Cluster:
    return Cluster.of({one.rank: one for one in ranks})


def judged(cluster: Cluster, code: str) -> list[Finding]:
    """What one rule says of them; every sentence reads in both languages."""
    found = [one for one in judge(cluster, rules_of(rules), strict=True) if one.rule == code]
    assert all(one.message(lang) + one.hint(lang) for one in found for lang in LANGUAGES)
    return found
