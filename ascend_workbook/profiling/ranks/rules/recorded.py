"""What the ranks' profiles hold: which steps were looked at, and whether their clocks agree."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.number_lists import format_spans
from ascend_workbook.profiling.figures import round_ms
from ascend_workbook.profiling.ranks.cluster import Cluster

BASIS = {"PRF351": "reasoned", "PRF358": "facts"}


def check_looked(cluster: Cluster) -> Iterator[Finding]:
    """Were all steps of each rank looked at? Of large traces some are enough, but then these are what the page is
    about."""
    alike: dict[tuple[int, int, int], list[int]] = {}
    for rank, looked in cluster.chosen_steps.items():
        alike.setdefault((looked.first, looked.last, looked.steps), []).append(rank)
    for (first, last, steps), ranks in alike.items():
        args: dict[str, Scalar] = {"ranks": format_spans(ranks), "first": first, "last": last, "steps": steps}
        yield Finding("PRF358", Status.NOTE, "PRF358.some", args)
    if behind := [rank for rank, looked in cluster.chosen_steps.items() if looked.behind]:
        yield Finding("PRF358", Status.LOOK, "PRF358.behind", {"ranks": format_spans(behind)})


def check_clocks(cluster: Cluster) -> Iterator[Finding]:
    """Do the clocks of the ranks agree? Where they do not, the ends of the collectives set them right."""
    shared = [shared_clock for rank, shared_clock in cluster.clocks.items() if rank != shared_clock.of]
    if not shared:
        return
    for rank, clock in cluster.shifted_clocks().items():
        args = {"rank": rank, "of": clock.of, "ahead_ms": round_ms(clock.ahead_ns / 1e6)}
        args |= {"spread_us": round(clock.spread_ns / 1e3, 1), "shared": clock.shared}
        yield Finding("PRF351", Status.NOTE, "PRF351.apart", dict(args))
    if not cluster.shifted_clocks():
        most = max(abs(shared_clock.ahead_ns) for shared_clock in shared)
        yield Finding(
            "PRF351", Status.GOOD, "PRF351.agree", {"most_us": round(most / 1e3, 1), "ranks": len(cluster.ranks)}
        )


RULES = {"PRF351": check_clocks, "PRF358": check_looked}
