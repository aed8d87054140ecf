"""The links between ranks: slow ones, and packets too small for them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.rules.waiting import is_worth_telling, make_saving_finding
from ascend_workbook.profiling.ranks.waiting import find_member

#: Packets below this size measure latency and not bandwidth
LEAST_MB = 1.0
#: A link is slow below this share of the median of at least so many others of its kind
SLOW, OTHERS = 0.8, 2


@dataclass(frozen=True)
class Compared:
    """A link of one rank with the median speed `usual` of the `others` that carry the same over the same transport,
    None where these are fewer than OTHERS. `target` is a rank, or the group's own number of one where no rank is known
    for it."""

    rank: int
    source: int
    target: int
    transport: str
    operation: str
    size_mb: float
    time_ms: float
    usual: float | None
    others: int
    steps: int

    @property
    def gb_per_s(self) -> float:
        return self.size_mb / self.time_ms

    @property
    def against_usual(self) -> float:
        """Return the link's speed as a share of the others', infinite where these are too few to tell."""
        return self.gb_per_s / self.usual if self.usual else math.inf


def compare_links(cluster: Cluster) -> list[Compared]:
    """Return the links that carried enough to tell their speed, each once a kind; the slowest of its kind first."""
    kinds: dict[tuple[str, str, int], dict[tuple[int, int], tuple[float, float]]] = {}  # groups of a size are alike
    for rank, link in ((rank, link) for rank, facts in cluster.ranks.items() for link in facts.links):
        target = find_member(cluster.ranks, link.group, link.target)
        ends = (rank, link.target if target is None else target)
        kind = kinds.setdefault((link.transport, link.operation, cluster.group_sizes.get(link.group, 0)), {})
        size_mb, time_ms = kind.get(ends, (0.0, 0.0))
        kind[ends] = (size_mb + link.size_mb, time_ms + link.time_ms)
    compared_links = []
    for (transport, operation, _), sums_by_ends in kinds.items():
        enough = {ends: sums for ends, sums in sums_by_ends.items() if sums[0] >= LEAST_MB}
        speeds = sorted(size / time for size, time in enough.values())
        for (rank, target), (size_mb, time_ms) in enough.items():
            usual = _median_without(speeds, size_mb / time_ms) if len(speeds) > OTHERS else None
            steps = max(1, len(set(cluster.ranks[rank].calls.step.tolist())))
            ends_and_kind = (rank, rank, target, transport, operation)
            compared_links.append(Compared(*ends_and_kind, size_mb, time_ms, usual, len(speeds) - 1, steps))
    return sorted(compared_links, key=lambda entry: entry.against_usual)


def _median_without(ordered: list[float], number: float) -> float:
    """Return the median of sorted numbers but for one of them."""
    at, middle = bisect_left(ordered, number), len(ordered) - 2
    low, high = (ordered[place + (place >= at)] for place in (middle // 2, (middle + 1) // 2))
    return (low + high) / 2


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


def find_small_packets(cluster: Cluster, rank: int) -> SmallPackets | None:
    """Return what a rank would save on the transport that took longest; None where no sizes are told, or no packet is
    larger than the others."""
    facts = cluster.ranks[rank]
    by_transport: dict[str, list[tuple[float, float, float]]] = {}
    for entry in facts.packets:
        by_transport.setdefault(entry.transport, []).append((entry.size_mb, entry.size_mb * entry.count, entry.time_ms))
    if not by_transport:
        return None
    transport = max(by_transport, key=lambda name: sum(time for _, _, time in by_transport[name]))
    sizes = by_transport[transport]
    size, time = sum(sent for _, sent, _ in sizes), sum(took for _, _, took in sizes)
    best_mb, best = max(((mb, sent / took) for mb, sent, took in sizes), key=lambda pair: pair[1])
    lost = 1 - size / time / best
    typical = max(sizes, key=lambda entry: entry[2])[0]
    rows = cluster.rows_of(rank)
    whole = int(facts.calls.duration_ns[cluster.matches.at[rows]].sum()) / len(facts.steps) / 1e6
    # what the rank's collectives take a step beyond waiting, no more than what nothing hides
    sending = min(max(0.0, whole - cluster.wait_ms(rank)), cluster.mean_part_ms(rank, "communication"))
    return SmallPackets(rank, transport, size / time, best, best_mb, typical, lost * sending)


BASIS = "reasoned"


def check_links(cluster: Cluster) -> Iterator[Finding]:
    """Is a link slower than those of its kind? Links of one transport that carry the same operation should be alike."""
    rows = compare_links(cluster)
    if rows and not any(link.usual for link in rows):
        raise CannotCheck("PRF356.no_others", links=len(rows))
    slow = [link for link in rows if link.against_usual < SLOW]
    for link in slow:
        args: dict[str, Scalar] = {
            "source": link.source,
            "target": link.target,
            "transport": link.transport,
            "operation": link.operation,
            "gb_per_s": round(link.gb_per_s, 2),
            "usual": round(link.gb_per_s / link.against_usual, 2),
            "links": link.others,
        }
        lost = link.time_ms * (1 - link.against_usual) / link.steps
        gain = min(lost, cluster.mean_part_ms(link.rank, "communication"))
        yield make_saving_finding(cluster, "PRF356", "slow", gain, args)
    if rows and not slow:
        yield Finding("PRF356", Status.GOOD, "PRF356.alike", {"links": sum(link.usual is not None for link in rows)})


def check_packets(cluster: Cluster) -> Iterator[Finding]:
    """Are collectives so small that the links do not reach their speed? Larger buckets send the same in less time."""
    candidates = [candidate for candidate in (find_small_packets(cluster, rank) for rank in cluster.ranks) if candidate]
    if not candidates:
        return
    worst = max(candidates, key=lambda candidate: candidate.gain_ms)
    args: dict[str, Scalar] = {"rank": worst.rank, "transport": worst.transport, "gb_per_s": round(worst.gb_per_s, 2)}
    args |= {"best": round(worst.best, 2), "best_mb": round(worst.best_mb, 3), "typical_mb": round(worst.typical_mb, 3)}
    if is_worth_telling(cluster, worst.gain_ms):
        yield make_saving_finding(cluster, "PRF357", "small", worst.gain_ms, args)
    else:
        yield Finding("PRF357", Status.GOOD, "PRF357.fine", args)


#: Transports of one node copy pieces of so many bytes; others take a second pass
ALIGNED = 512
NODE = ("HCCS", "SDMA", "PCIE", "SIO")
#: Share of the packets' time from which on it is told
MISALIGNED = 0.2
#: A packet over RDMA is sent anew after this long without an answer (HCCL_RDMA_TIMEOUT: 4.096 us times 2 to the 20th)
RESENT_MS = 4000.0


def check_alignment(cluster: Cluster) -> Iterator[Finding]:
    """Are the pieces that collectives send a multiple of 512 bytes? Copies between the cards of a node go by such
    blocks. Source: https://gitcode.com/Ascend/msprof-analyze"""
    for rank, facts in cluster.ranks.items():
        pieces = [packet for packet in facts.packets if packet.transport in NODE]
        whole = sum(packet.time_ms for packet in pieces)
        uneven = [packet for packet in pieces if round(packet.size_mb * 1e6) % ALIGNED]
        if not whole:
            continue
        share = sum(packet.time_ms for packet in uneven) / whole
        args: dict[str, Scalar] = {"rank": rank, "share": round(100 * share, 1), "block": ALIGNED}
        args |= {"pieces": sum(packet.count for packet in uneven), "of": sum(packet.count for packet in pieces)}
        key, status = ("uneven", Status.NOTE) if share > MISALIGNED else ("even", Status.GOOD)
        yield Finding("PRF349", status, f"PRF349.{key}", args)


def check_resending(cluster: Cluster) -> Iterator[Finding]:
    """Were packets over RDMA sent anew? One that is not answered is repeated after four seconds: such a time is no
    speed but a loss in the network. Source: https://gitcode.com/Ascend/msprof-analyze"""
    for rank, facts in cluster.ranks.items():
        packets = [packet for packet in facts.packets if packet.transport == "RDMA"]
        if not packets:
            continue
        slow = [packet for packet in packets if packet.time_ms / packet.count >= RESENT_MS]
        args: dict[str, Scalar] = {"rank": rank, "packets": sum(packet.count for packet in slow or packets)}
        args["seconds"] = round(max(packet.time_ms / packet.count for packet in packets) / 1e3, 3)
        key, status = ("again", Status.LOOK) if slow else ("once", Status.GOOD)
        yield Finding("PRF359", status, f"PRF359.{key}", args)


RULES = {
    "PRF349": check_alignment,
    "PRF356": check_links,
    "PRF357": check_packets,
    "PRF359": check_resending,
}
