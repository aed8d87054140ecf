"""A finding about time that the ranks could save together: graded by its share of the step, with the bound in it."""

from __future__ import annotations

from helpers.finding import Finding, Status
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.waiting import FIRST_UNMAPPED, NOBODY
from helpers.words import Scalar

WORTH, MUCH = 0.03, 0.10


def saving(cluster: Cluster, code: str, key: str, gain_ms: float, args: dict[str, Scalar]) -> Finding:
    """A NOTE, from a tenth of the step on a WARN; on a simulated NPU always a NOTE, for its times are the CPU's."""
    share = gain_ms / cluster.step_ms
    status = Status.WARN if share >= MUCH and not cluster.simulated else Status.NOTE
    told = {**args, "gain_ms": round(gain_ms, 3), "share": round(100 * share, 1)}
    return Finding(code, status, f"{code}.{key}", told, weight=100 * share)


def worth(cluster: Cluster, gain_ms: float) -> bool:
    """Whether it is long enough to be told."""
    return gain_ms >= WORTH * cluster.step_ms


def named(cluster: Cluster, who: int) -> dict[str, Scalar]:
    """The rank that is waited for, in words."""
    if who == NOBODY:
        return {"say": "ranks.nobody"}
    if who > FIRST_UNMAPPED:
        return {"say": "ranks.rank", "args": {"number": who}}
    _, number = cluster.waits.unmapped[FIRST_UNMAPPED - who]
    return {"say": "ranks.of_its_group", "args": {"number": number}}


def short(cluster: Cluster, who: int) -> Scalar:
    """The same for a cell of a table: its number where it has one, None for nobody."""
    return who if who >= 0 else None if who == NOBODY else named(cluster, who)
