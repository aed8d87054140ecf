"""Does one rank need longer for itself than those that do the same work? In which part, and what would it save?

Each rank's own time is its step without the communication that nothing hides; the others wait as long. It is held
against the median of its peers (the ranks of the same pipeline stage), which leaves the rank itself out, so that two
ranks are enough. What the steps, or the peers among each other, spread by is not called slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.savings import is_worth_telling, make_saving_finding

CODE = "PRF353"
BASIS = "reasoned"
PARTS = ("computing", "copy", "loading", "free")
#: A difference counts from this many times the usual spread on
SURE = 3


def check(cluster: Cluster) -> Iterator[Finding]:
    if len(cluster.ranks) < 2:
        raise CannotCheck("PRF353.one")
    compared = [rank for rank in cluster.ranks if cluster.find_peers(rank)]
    if not compared:
        raise CannotCheck("PRF353.no_peers")
    slow = [
        rank
        for rank in compared
        if is_worth_telling(cluster, _excess_ms(cluster, rank, "own")) and _is_sure(cluster, rank)
    ]
    for rank in slow:
        yield _make_finding(cluster, rank)
    if not slow:
        yield _report_alike(cluster, compared)


def _report_alike(cluster: Cluster, compared: list[int]) -> Finding:
    """Report that the ranks need equally long, with the span among those that do the same work: in a pipeline the
    widest of its stages.
    """
    spans = []
    for stage in {cluster.stages.get(rank) for rank in compared}:
        own = [cluster.mean_part_ms(rank, "own") for rank in compared if cluster.stages.get(rank) == stage]
        spans.append((max(own) - min(own), min(own), max(own), stage))
    _, least, most, stage = max(spans, key=lambda span: span[0])
    args: dict[str, Scalar] = {"least_ms": round(least, 3), "most_ms": round(most, 3), "stage": stage}
    return Finding(CODE, Status.OK, "PRF353.alike" if stage is None else "PRF353.alike_in_stages", args)


def _excess_ms(cluster: Cluster, rank: int, part: str) -> float:
    """Return how many milliseconds a step the rank needs more than the median of its peers."""
    return cluster.mean_part_ms(rank, part) - median(
        cluster.mean_part_ms(other, part) for other in cluster.find_peers(rank)
    )


def _is_sure(cluster: Cluster, rank: int) -> bool:
    """Return whether the rank's excess is more than the peers differ among each other, and so in step after step."""
    peers = [cluster.mean_part_ms(other, "own") for other in cluster.find_peers(rank)]
    usual = median(peers)
    spread = median(abs(value - usual) for value in peers) if len(peers) > 2 else 0.0
    more = _excess_in_each_step(cluster, rank)
    middle = median(more) if more else 0.0
    noise = median(abs(value - middle) for value in more) if len(more) > 2 else 0.0
    above = cluster.mean_part_ms(rank, "own") - usual
    return above > SURE * spread and (not more or (middle > 0 and middle > noise))


def _excess_in_each_step(cluster: Cluster, rank: int) -> list[float]:
    """Return the rank's excess in each step that it shares with its peers, in milliseconds."""
    own_steps = {step.number: step.own_ns for step in cluster.ranks[rank].steps}
    others = [{step.number: step.own_ns for step in cluster.ranks[peer].steps} for peer in cluster.find_peers(rank)]
    shared = set(own_steps).intersection(*others)
    return [(own_steps[number] - median(other[number] for other in others)) / 1e6 for number in sorted(shared)]


def _make_finding(cluster: Cluster, rank: int) -> Finding:
    part = max(PARTS, key=lambda name: _excess_ms(cluster, rank, name))
    fastest = min(cluster.mean_part_ms(other, "own") for other in cluster.find_peers(rank))
    gain = min(_excess_ms(cluster, rank, "own"), cluster.step_ms)
    args: dict[str, Scalar] = {
        "rank": rank,
        "own_ms": round(cluster.mean_part_ms(rank, "own"), 3),
        "others_ms": round(cluster.mean_part_ms(rank, "own") - _excess_ms(cluster, rank, "own"), 3),
        "part": Sentence(f"ranks.part.{part}"),
        "part_ms": round(_excess_ms(cluster, rank, part), 3),
        "fastest_ms": round(min(cluster.mean_part_ms(rank, "own") - fastest, cluster.step_ms), 3),
        "todo": Sentence(f"ranks.todo.{part}"),
    }
    return make_saving_finding(cluster, CODE, "slow", gain, args)
