"""Were all steps of each rank looked at? Of large traces some are enough, but then these are what the page is about."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.number_lists import spans
from helpers.profiling.ranks.cluster import Cluster
from helpers.words import Scalar

CODE = "PRF358"
BASIS = "facts"


def check(cluster: Cluster) -> Iterator[Finding]:
    alike: dict[tuple[int, int, int], list[int]] = {}
    for rank, looked in cluster.looked.items():
        alike.setdefault((looked.first, looked.last, looked.steps), []).append(rank)
    for (first, last, steps), ranks in alike.items():
        args: dict[str, Scalar] = {"ranks": spans(ranks), "first": first, "last": last, "steps": steps}
        yield Finding(CODE, Status.NOTE, "PRF358.some", args)
    if behind := [rank for rank, looked in cluster.looked.items() if looked.behind]:
        yield Finding(CODE, Status.WARN, "PRF358.behind", {"ranks": spans(behind)})
