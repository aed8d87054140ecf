"""Is a link slower than those of its kind? Links of one transport that carry the same operation should be alike."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.savings import saving
from helpers.profiling.ranks.transport import compared, slow
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF356"
BASIS = "reasoned"


def check(cluster: Cluster) -> Iterator[Finding]:
    rows = compared(cluster)
    if rows and not any(one.usual for one in rows):
        raise CannotCheck("PRF356.no_others", links=len(rows))
    for one in slow(rows):
        args: dict[str, Scalar] = {
            "source": one.source,
            "target": one.target,
            "transport": one.transport,
            "operation": one.operation,
            "gb_per_s": round(one.gb_per_s, 2),
            "usual": round(one.gb_per_s / one.against_usual, 2),
            "links": one.others,
        }
        lost = one.time_ms * (1 - one.against_usual) / one.steps
        yield saving(cluster, CODE, "slow", min(lost, cluster.ms(one.rank, "communication")), args)
    if rows and not slow(rows):
        yield Finding(CODE, Status.OK, "PRF356.alike", {"links": sum(one.usual is not None for one in rows)})
