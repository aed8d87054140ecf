"""How long do pipeline stages wait for each other? What is left when they are balanced, more micro-batches shorten.

With equal stages the bubble is (stages - 1) / (micro-batches + stages - 1) of the step.
https://arxiv.org/abs/2104.04473 (Narayanan and others, section 2.2)
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from helpers.finding import Finding, Status
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.savings import WORTH
from helpers.words import Scalar

CODE = "PRF355"


def bubble_ms(cluster: Cluster, rank: int) -> float:
    """What a rank waits for other stages a step: by arrivals, or by the profiler's own table where that says more."""
    steps = cluster.ranks[rank].steps
    return max(cluster.wait_ms(rank, across=True), sum(step.bubble_ns for step in steps) / len(steps) / 1e6)


def check(cluster: Cluster) -> Iterator[Finding]:
    if not cluster.stages:
        return
    ms = {rank: bubble_ms(cluster, rank) for rank in cluster.ranks}
    share = mean(ms.values()) / cluster.step_ms
    longest = max(ms, key=ms.__getitem__)
    args: dict[str, Scalar] = {
        "mean_ms": round(mean(ms.values()), 3),
        "share": round(100 * share, 1),
        "rank": longest,
        "longest_ms": round(ms[longest], 3),
        "longest_share": round(100 * ms[longest] / cluster.step_ms, 1),
        "stages": len(set(cluster.stages.values())),
    }
    status, key = (Status.NOTE, "PRF355.bubbles") if share >= WORTH else (Status.OK, "PRF355.short")
    yield Finding(CODE, status, key, args)
