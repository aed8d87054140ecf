"""Collectives over two ranks: hccl on an NPU, each one's values checked."""

from __future__ import annotations

from helpers.device import Device
from helpers.environment import bandwidth
from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table
from helpers.words import Scalar

OPERATIONS = ("all_reduce", "broadcast", "all_gather")
RANKS = 2
TIMEOUT_S = 240.0
COLUMNS = (Column("case"), Column("status"), Column("time", "ms"), Column("bus_bandwidth", "GB/s"))


def check_collectives(found: Device, budget_s: float = TIMEOUT_S) -> Report:
    """A row a collective. One device alone could not be looked at: SKIPPED, not good."""
    if found.accelerator != "cpu" and found.count < RANKS:
        alone = Finding("SLF040", Status.SKIPPED, "SLF040.one", {"count": found.count})
        return Report("environment", "selftest_hccl", (alone,), tier=found.tier)
    timeout_s = min(TIMEOUT_S, budget_s)
    rows = bandwidth.collective(found.tier, found.accelerator, RANKS, operations=OPERATIONS, timeout_s=timeout_s)
    findings = [bandwidth.judge(row) for row in rows]
    shown = [(row, finding) for row, finding in zip(rows, findings) if "operation" in row]
    cells: list[tuple[Scalar, ...]] = [
        (bandwidth.case_of(row), finding.status.name, row["time_ms"], row["bus_gb_per_s"]) for row, finding in shown
    ]
    good = len(shown) == len(OPERATIONS) and all(finding.status is Status.OK for finding in findings)
    args: dict[str, Scalar] = {"count": len(shown), "ranks": RANKS, "backend": bandwidth.BACKENDS[found.accelerator]}
    told = (Finding("SLF040", Status.OK, "SLF040.ok", args),) if good else ()
    table = Table(COLUMNS, tuple(cells))
    return Report("environment", "selftest_hccl", (*told, *findings), table, facts={"rows": rows}, tier=found.tier)
