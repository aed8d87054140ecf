"""Bandwidth by link and by packet size, held against the same profile's own best: no data sheet tells it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.ranks.waiting import member

#: Packets below this size measure latency and not bandwidth
LEAST_MB = 1.0
#: A link is slow below this share of the median of at least so many of its kind
SLOW, ALIKE = 0.8, 3


@dataclass(frozen=True)
class Compared:
    """A link of one rank with the median speed `usual` of the `alike` links that carry the same over the same
    transport. `target` is a rank, or the group's own number of one where no rank is known for it."""

    rank: int
    source: int
    target: int
    transport: str
    operation: str
    size_mb: float
    time_ms: float
    gb_per_s: float
    usual: float
    alike: int
    steps: int


def compared(cluster: Cluster) -> list[Compared]:
    """All links that carried enough to tell their speed, the slowest against its kind first."""
    kinds: dict[tuple[str, str, int], list[float]] = {}  # groups of one size use their links alike
    links = [(rank, link) for rank, facts in cluster.ranks.items() for link in facts.links if link.size_mb >= LEAST_MB]
    for _, link in links:
        kinds.setdefault((link.transport, link.operation, cluster.sizes.get(link.group, 0)), []).append(link.gb_per_s)
    found = []
    for rank, link in links:
        alike = kinds[link.transport, link.operation, cluster.sizes.get(link.group, 0)]
        target = member(cluster.ranks, link.group, link.target)
        shown = link.target if target is None else target
        ends = (rank, rank, shown, link.transport, link.operation)
        steps = max(1, len(set(cluster.ranks[rank].calls.step.tolist())))
        found.append(Compared(*ends, link.size_mb, link.time_ms, link.gb_per_s, median(alike), len(alike), steps))
    return sorted(found, key=lambda one: one.gb_per_s / one.usual)


def slow(links: list[Compared]) -> list[Compared]:
    """Those clearly below their kind."""
    return [one for one in links if one.alike >= ALIKE and one.gb_per_s < SLOW * one.usual]


@dataclass(frozen=True)
class SmallPackets:
    """What a rank would save on one transport if all packets went at the `best` speed that it reached, with packets of
    `best_mb`; `typical_mb` is the size that took most of the time."""

    rank: int
    transport: str
    gb_per_s: float
    best: float
    best_mb: float
    typical_mb: float
    gain_ms: float


def small_packets(cluster: Cluster, rank: int) -> SmallPackets | None:
    """Of the transport that took longest; None where no sizes are told, or no packet is larger than the others."""
    facts = cluster.ranks[rank]
    by_transport: dict[str, list[tuple[float, float, float]]] = {}
    for one in facts.packets:
        by_transport.setdefault(one.transport, []).append((one.size_mb, one.size_mb * one.count, one.time_ms))
    if not by_transport:
        return None
    transport = max(by_transport, key=lambda name: sum(time for _, _, time in by_transport[name]))
    sizes = by_transport[transport]
    size, time = sum(sent for _, sent, _ in sizes), sum(took for _, _, took in sizes)
    best_mb, best = max(((mb, sent / took) for mb, sent, took in sizes), key=lambda pair: pair[1])
    lost = 1 - size / time / best
    typical = max(sizes, key=lambda one: one[2])[0]
    return SmallPackets(rank, transport, size / time, best, best_mb, typical, lost * _transmission_ms(cluster, rank))


def _transmission_ms(cluster: Cluster, rank: int) -> float:
    """What the rank's collectives take a step beyond waiting, no more than what nothing hides."""
    rows = cluster.rows_of(rank)
    calls = cluster.ranks[rank].calls
    whole = int(calls.duration_ns[cluster.matches.at[rows]].sum()) / len(cluster.ranks[rank].steps) / 1e6
    return min(max(0.0, whole - cluster.wait_ms(rank)), cluster.ms(rank, "communication"))
