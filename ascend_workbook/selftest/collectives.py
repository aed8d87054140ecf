"""Collectives over two ranks: hccl on an NPU, each one's values checked."""

from __future__ import annotations

from ascend_workbook.environment import bandwidth
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.device import Device

OPERATIONS = ("all_reduce", "broadcast", "all_gather")
RANKS = 2
TIMEOUT_S = 240.0
COLUMNS = (Column("case"), Column("status"), Column("time", "ms"), Column("bus_bandwidth", "GB/s"))


def check_collectives(device: Device, budget_s: float = TIMEOUT_S) -> Report:
    """A row a collective. One device alone could not be looked at: SKIPPED, not good."""
    if device.accelerator != "cpu" and device.count < RANKS:
        alone = Finding("SLF040", Status.SKIPPED, "SLF040.one", {"count": device.count})
        return Report("environment", "selftest_hccl", (alone,), tier=device.tier)
    timeout_s = min(TIMEOUT_S, budget_s)
    rows = bandwidth.measure_collectives(
        device.tier, device.accelerator, RANKS, operations=OPERATIONS, timeout_s=timeout_s
    )
    findings = [bandwidth.judge_row(row) for row in rows]
    shown = [(row, finding) for row, finding in zip(rows, findings) if "operation" in row]
    cells: list[tuple[Scalar, ...]] = [
        (bandwidth.case_of(row), finding.status.name, row["time_ms"], row["bus_gb_per_s"]) for row, finding in shown
    ]
    good = len(shown) == len(OPERATIONS) and all(finding.status is Status.OK for finding in findings)
    args: dict[str, Scalar] = {"count": len(shown), "ranks": RANKS, "backend": bandwidth.BACKENDS[device.accelerator]}
    good_findings = (Finding("SLF040", Status.OK, "SLF040.ok", args),) if good else ()
    table = Table(COLUMNS, tuple(cells))
    return Report(
        "environment", "selftest_hccl", (*good_findings, *findings), table, facts={"rows": rows}, tier=device.tier
    )
