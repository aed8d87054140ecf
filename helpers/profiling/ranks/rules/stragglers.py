"""Does one rank need longer for itself than those that do the same work? In which part, and what would it save?

Each rank's own time is its step without the communication that nothing hides; the others wait as long. It is held
against the median of its peers (the ranks of the same pipeline stage), which leaves the rank itself out, so that two
ranks are enough. What the steps, or the peers among each other, spread by is not called slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from helpers.finding import Finding, Status
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.savings import saving, worth
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF353"
BASIS = "reasoned"
PARTS = ("computing", "copy", "loading", "free")
#: A difference counts from this many times the usual spread on
SURE = 3


def check(cluster: Cluster) -> Iterator[Finding]:
    if len(cluster.ranks) < 2:
        raise CannotCheck("PRF353.one")
    compared = [rank for rank in cluster.ranks if cluster.peers(rank)]
    if not compared:
        raise CannotCheck("PRF353.no_peers")
    slow = [rank for rank in compared if worth(cluster, _more(cluster, rank, "own")) and _sure(cluster, rank)]
    for rank in slow:
        yield _finding(cluster, rank)
    if not slow:
        yield _alike(cluster, compared)


def _alike(cluster: Cluster, compared: list[int]) -> Finding:
    """With the span among those that do the same work: in a pipeline the widest of its stages."""
    spans = []
    for stage in {cluster.stages.get(rank) for rank in compared}:
        own = [cluster.ms(rank, "own") for rank in compared if cluster.stages.get(rank) == stage]
        spans.append((max(own) - min(own), min(own), max(own), stage))
    _, least, most, stage = max(spans, key=lambda one: one[0])
    args: dict[str, Scalar] = {"least_ms": round(least, 3), "most_ms": round(most, 3), "stage": stage}
    return Finding(CODE, Status.OK, "PRF353.alike" if stage is None else "PRF353.alike_in_stages", args)


def _more(cluster: Cluster, rank: int, part: str) -> float:
    """How many milliseconds a step the rank needs more than the median of its peers."""
    return cluster.ms(rank, part) - median(cluster.ms(other, part) for other in cluster.peers(rank))


def _sure(cluster: Cluster, rank: int) -> bool:
    """Whether it is more than the peers differ among each other, and so in step after step."""
    peers = [cluster.ms(other, "own") for other in cluster.peers(rank)]
    usual = median(peers)
    spread = median(abs(one - usual) for one in peers) if len(peers) > 2 else 0.0
    more = _in_each_step(cluster, rank)
    middle = median(more) if more else 0.0
    noise = median(abs(one - middle) for one in more) if len(more) > 2 else 0.0
    above = cluster.ms(rank, "own") - usual
    return above > SURE * spread and (not more or (middle > 0 and middle > noise))


def _in_each_step(cluster: Cluster, rank: int) -> list[float]:
    """The same difference in each step that the rank shares with its peers."""
    mine = {step.number: step.own_ns for step in cluster.ranks[rank].steps}
    others = [{step.number: step.own_ns for step in cluster.ranks[one].steps} for one in cluster.peers(rank)]
    shared = set(mine).intersection(*others)
    return [(mine[number] - median(other[number] for other in others)) / 1e6 for number in sorted(shared)]


def _finding(cluster: Cluster, rank: int) -> Finding:
    part = max(PARTS, key=lambda name: _more(cluster, rank, name))
    fastest = min(cluster.ms(other, "own") for other in cluster.peers(rank))
    gain = min(_more(cluster, rank, "own"), cluster.step_ms)
    args: dict[str, Scalar] = {
        "rank": rank,
        "own_ms": round(cluster.ms(rank, "own"), 3),
        "others_ms": round(cluster.ms(rank, "own") - _more(cluster, rank, "own"), 3),
        "part": {"say": f"ranks.part.{part}"},
        "part_ms": round(_more(cluster, rank, part), 3),
        "fastest_ms": round(min(cluster.ms(rank, "own") - fastest, cluster.step_ms), 3),
        "todo": {"say": f"ranks.todo.{part}"},
    }
    return saving(cluster, CODE, "slow", gain, args)
