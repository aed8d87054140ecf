"""Do the clocks of the ranks agree? Where they do not, the ends of the collectives set them right."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.ranks.cluster import Cluster

CODE = "PRF351"
BASIS = "reasoned"


def check(cluster: Cluster) -> Iterator[Finding]:
    shared = [one for rank, one in cluster.clocks.items() if rank != one.of]
    if not shared:
        return
    for rank, clock in cluster.moved().items():
        args = {"rank": rank, "of": clock.of, "ahead_ms": round(clock.ahead_ns / 1e6, 3)}
        args |= {"spread_us": round(clock.spread_ns / 1e3, 1), "shared": clock.shared}
        yield Finding(CODE, Status.NOTE, "PRF351.apart", dict(args))
    if not cluster.moved():
        most = max(abs(one.ahead_ns) for one in shared)
        yield Finding(CODE, Status.OK, "PRF351.agree", {"most_us": round(most / 1e3, 1), "ranks": len(cluster.ranks)})
