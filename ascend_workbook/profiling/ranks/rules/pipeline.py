"""A pipeline's stages: do they compute equally long, and how long do ranks wait between them?"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.savings import WORTH, is_worth_telling, make_saving_finding


def check_stages(cluster: Cluster) -> Iterator[Finding]:
    """Do the stages of a pipeline compute equally long? The slowest sets the pace of each micro-batch.

    A micro-batch takes as long as its slowest stage, so with the same work spread evenly a step is shorter by no more
    than what the slowest stage computes above the mean of all. https://arxiv.org/abs/2104.04473 (pipeline schedules)
    """
    if not cluster.stages:
        return
    ranks = {stage: [rank for rank, at in cluster.stages.items() if at == stage] for stage in cluster.stages.values()}
    ms = {
        stage: mean(cluster.mean_part_ms(rank, "computing") for rank in stage_ranks)
        for stage, stage_ranks in ranks.items()
    }
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
    if is_worth_telling(cluster, gain):
        yield make_saving_finding(cluster, "PRF354", "uneven", gain, args)
    else:
        yield Finding("PRF354", Status.OK, "PRF354.even", args)


def bubble_ms(cluster: Cluster, rank: int) -> float:
    """Return what a rank waits for other stages a step: by arrivals, or by the profiler's own table where that says
    more.
    """
    steps = cluster.ranks[rank].steps
    return max(cluster.wait_ms(rank, across=True), sum(step.bubble_ns for step in steps) / len(steps) / 1e6)


def check_bubbles(cluster: Cluster) -> Iterator[Finding]:
    """How long do pipeline stages wait for each other? What is left when they are balanced, more micro-batches shorten.

    With equal stages the bubble is (stages - 1) / (micro-batches + stages - 1) of the step.
    https://arxiv.org/abs/2104.04473 (Narayanan and others, section 2.2)
    """
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
    yield Finding("PRF355", status, key, args)


RULES = {
    "PRF354": check_stages,
    "PRF355": check_bubbles,
}
