"""Do the stages of a pipeline compute equally long? The slowest sets the pace of each micro-batch.

A micro-batch takes as long as its slowest stage, so with the same work spread evenly a step is shorter by no more
than what the slowest stage computes above the mean of all. https://arxiv.org/abs/2104.04473 (pipeline schedules)
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from helpers.finding import Finding, Status
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.savings import saving, worth
from helpers.words import Scalar

CODE = "PRF354"


def check(cluster: Cluster) -> Iterator[Finding]:
    if not cluster.stages:
        return
    ranks = {stage: [rank for rank, at in cluster.stages.items() if at == stage] for stage in cluster.stages.values()}
    ms = {stage: mean(cluster.ms(rank, "computing") for rank in there) for stage, there in ranks.items()}
    slowest, fastest = max(ms, key=ms.__getitem__), min(ms, key=ms.__getitem__)
    gain = ms[slowest] - mean(ms.values())
    args: dict[str, Scalar] = {
        "stage": slowest,
        "ranks": [*sorted(ranks[slowest])],
        "most_ms": round(ms[slowest], 3),
        "fastest": fastest,
        "least_ms": round(ms[fastest], 3),
        "times": round(ms[slowest] / ms[fastest], 2) if ms[fastest] else None,
        "mean_ms": round(mean(ms.values()), 3),
    }
    if worth(cluster, gain):
        yield saving(cluster, CODE, "uneven", gain, args)
    else:
        yield Finding(CODE, Status.OK, "PRF354.even", args)
