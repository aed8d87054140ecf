"""The links between ranks: slow ones, and packets too small for them."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.savings import is_worth_telling, make_saving_finding
from ascend_workbook.profiling.ranks.transport import SLOW, compare_links, find_small_packets

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
        yield Finding("PRF356", Status.OK, "PRF356.alike", {"links": sum(link.usual is not None for link in rows)})


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
        yield Finding("PRF357", Status.OK, "PRF357.fine", args)


RULES = {"PRF356": check_links, "PRF357": check_packets}
