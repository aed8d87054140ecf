"""The allocator's peak: how much, when, who held it, and how much of what was reserved lay unused."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.readers.tables import MemoryTables

UNREAD = "PRF324.unread"
#: Points of the curve that are shown; in each piece of it the highest
POINTS = 300


@dataclass(frozen=True)
class Peak:
    """The moment at which most was allocated, in MB. `holders`: operator -> (MB, allocations) that it still held then;
    `earlier_mb` was allocated before the recording began."""

    at_ns: int
    allocated_mb: float
    reserved_mb: float
    holders: dict[str, tuple[float, int]]
    earlier_mb: float

    @property
    def unused_share(self) -> float:
        """Return what part of the reserved memory was not allocated, 0 to 1."""
        return 1 - self.allocated_mb / self.reserved_mb if self.reserved_mb else 0.0


def read_memory(profile: Profile) -> MemoryTables | None:
    """Return the allocator's tables. Raises CannotCheck with the place where one cannot be read: what the timeline
    tells does not go with it."""
    try:
        return profile.memory
    except WorkbookError as error:
        raise CannotCheck(UNREAD, error=Sentence(error.key, **error.arguments)) from error


def peak_of(tables: MemoryTables) -> Peak:
    """Return the peak of the allocator's curve and the allocations alive at it, the largest first."""
    highest = int(np.argmax(tables.allocated_mb))
    at = int(tables.at_ns[highest])
    held: dict[str, list[float]] = defaultdict(list)
    for row in np.flatnonzero((tables.from_ns <= at) & (tables.until_ns > at)).tolist():
        held[tables.names[row]].append(float(tables.size_mb[row]))
    holders = {name: (sum(sizes), len(sizes)) for name, sizes in held.items()}
    ordered = dict(sorted(holders.items(), key=lambda holder: -holder[1][0]))
    allocated = float(tables.allocated_mb[highest])
    earlier = max(0.0, allocated - sum(size for size, _ in ordered.values()))
    return Peak(at, allocated, float(tables.reserved_mb[highest]), ordered, earlier)


def memory_answers(profile: Profile, stage: str, findings: list[Finding], top: int) -> list[Report]:
    """Report the peak by operator and the curve; the findings alone where the allocator was not recorded."""
    memory_findings = tuple(finding for finding in findings if finding.rule == "PRF324")
    unread = any(finding.key == UNREAD for finding in memory_findings)
    tables = None if unread else read_memory(profile)
    if tables is None:
        looked_for = unread or profile.trace.on_device
        return [Report(stage, "memory_peak", memory_findings, tier=profile.tier)] if looked_for else []
    peak = peak_of(tables)
    rows: list[tuple[Scalar, ...]] = [(Sentence("profiling.memory.earlier"), peak.earlier_mb, None)]
    rows += [(name, size, count) for name, (size, count) in list(peak.holders.items())[:top]]
    columns = (Column("operator"), Column("memory_held", "MB", digits=6), Column("allocations"))
    chart = Chart("bars", "operator", ("memory_held",), "MB")
    facts: dict[str, object] = {"peak_mb": peak.allocated_mb, "reserved_mb": peak.reserved_mb}
    facts |= {"process_mb": tables.process_mb, "modules_mb": tables.modules_mb}
    first = Report(
        stage, "memory_peak", memory_findings, Table(columns, tuple(rows)), chart, facts=facts, tier=profile.tier
    )
    return [first, _report_curve(profile, stage, tables)]


def _report_curve(profile: Profile, stage: str, tables: MemoryTables) -> Report:
    """Report the allocator's curve: of each piece its highest point."""
    pieces = np.array_split(np.arange(tables.at_ns.size), min(POINTS, tables.at_ns.size))
    highest = [int(piece[np.argmax(tables.allocated_mb[piece])]) for piece in pieces]
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (float(tables.at_ns[at] - tables.at_ns[0]) / 1e6, float(tables.allocated_mb[at]), float(tables.reserved_mb[at]))
        for at in highest
    )
    allocated = [float(tables.allocated_mb[at]) for at in highest]
    limits: dict[str, Scalar] = {
        "least_mb": round(min(allocated)),
        "most_mb": round(max(allocated)),
        "span_ms": profile.to_ms(int(tables.at_ns[-1] - tables.at_ns[0])),
    }
    findings = (Finding("PRF324", Status.GOOD, "PRF324.curve", limits),)
    held = (Column(f"memory_{what}", "MB", digits=6) for what in ("allocated", "reserved"))
    columns = (Column("memory_at", "ms"), *held)
    chart = Chart("lines", "memory_at", ("memory_allocated", "memory_reserved"), "MB")
    return Report(stage, "memory_curve", findings, Table(columns, rows), chart, tier=profile.tier)
