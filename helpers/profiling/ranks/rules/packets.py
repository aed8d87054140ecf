"""Are collectives so small that the links do not reach their speed? Larger buckets send the same in less time."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.savings import saving, worth
from helpers.profiling.ranks.transport import small_packets
from helpers.words import Scalar

CODE = "PRF357"
BASIS = "reasoned"


def check(cluster: Cluster) -> Iterator[Finding]:
    found = [one for one in (small_packets(cluster, rank) for rank in cluster.ranks) if one]
    if not found:
        return
    worst = max(found, key=lambda one: one.gain_ms)
    args: dict[str, Scalar] = {"rank": worst.rank, "transport": worst.transport, "gb_per_s": round(worst.gb_per_s, 2)}
    args |= {"best": round(worst.best, 2), "best_mb": round(worst.best_mb, 3), "typical_mb": round(worst.typical_mb, 3)}
    if worth(cluster, worst.gain_ms):
        yield saving(cluster, CODE, "small", worst.gain_ms, args)
    else:
        yield Finding(CODE, Status.OK, "PRF357.fine", args)
