"""The allocator's peak: how much, when, who held it, and how much of what was reserved lay unused."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.profiling.readers.memory_tables import MemoryTables
from helpers.report import Chart, Column, Report, Table
from helpers.rules import CannotCheck
from helpers.words import Scalar

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
    def unused(self) -> float:
        """What part of the reserved memory was not allocated, 0 to 1."""
        return 1 - self.allocated_mb / self.reserved_mb if self.reserved_mb else 0.0


def recorded(profile: Profile) -> MemoryTables | None:
    """The allocator's tables. Raises CannotCheck with the place where one cannot be read: what the timeline tells does
    not go with it."""
    try:
        return profile.memory
    except WorkbookError as error:
        raise CannotCheck(UNREAD, error={"say": error.key, "args": error.arguments}) from error


def peak_of(tables: MemoryTables) -> Peak:
    """The peak of the allocator's curve and the allocations alive at it, the largest first."""
    highest = int(np.argmax(tables.allocated_mb))
    at = int(tables.at_ns[highest])
    alive = np.flatnonzero((tables.from_ns <= at) & (tables.until_ns > at))
    held: dict[str, list[float]] = defaultdict(list)
    for row in alive.tolist():
        held[tables.names[row]].append(float(tables.size_mb[row]))
    holders = {name: (sum(sizes), len(sizes)) for name, sizes in held.items()}
    ordered = dict(sorted(holders.items(), key=lambda one: -one[1][0]))
    allocated = float(tables.allocated_mb[highest])
    earlier = max(0.0, allocated - sum(size for size, _ in ordered.values()))
    return Peak(at, allocated, float(tables.reserved_mb[highest]), ordered, earlier)


def memory_answers(profile: Profile, stage: str, findings: list[Finding], top: int) -> list[Report]:
    """The peak by operator and the curve; with the findings alone where the allocator was not recorded."""
    mine = tuple(one for one in findings if one.rule == "PRF324")
    unread = any(one.key == UNREAD for one in mine)
    tables = None if unread else recorded(profile)
    if tables is None:
        looked_for = unread or profile.trace.on_device
        return [Report(stage, "memory_peak", mine, tier=profile.tier)] if looked_for else []
    peak = peak_of(tables)
    rows: list[tuple[Scalar, ...]] = [({"say": "profiling.memory.earlier"}, peak.earlier_mb, None)]
    rows += [(name, size, count) for name, (size, count) in list(peak.holders.items())[:top]]
    columns = (Column("operator"), Column("memory_held", "MB", digits=6), Column("allocations"))
    chart = Chart("bars", "operator", ("memory_held",), "MB")
    facts = {"peak_mb": peak.allocated_mb, "reserved_mb": peak.reserved_mb, "process_mb": tables.process_mb,
             "modules_mb": tables.modules_mb}  # fmt: skip
    first = Report(stage, "memory_peak", mine, Table(columns, tuple(rows)), chart, facts=facts, tier=profile.tier)
    return [first, _curve(profile, stage, tables)]


def _curve(profile: Profile, stage: str, tables: MemoryTables) -> Report:
    pieces = np.array_split(np.arange(tables.at_ns.size), min(POINTS, tables.at_ns.size))
    highest = [int(piece[np.argmax(tables.allocated_mb[piece])]) for piece in pieces]
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (
            float(tables.at_ns[at] - tables.at_ns[0]) / 1e6,
            float(tables.allocated_mb[at]),
            float(tables.reserved_mb[at]),
        )
        for at in highest
    )
    allocated = [float(tables.allocated_mb[at]) for at in highest]
    told: dict[str, Scalar] = {"least_mb": round(min(allocated)), "most_mb": round(max(allocated)),
                               "span_ms": profile.ms(int(tables.at_ns[-1] - tables.at_ns[0]))}  # fmt: skip
    findings = (Finding("PRF324", Status.OK, "PRF324.curve", told),)
    held = (Column(f"memory_{what}", "MB", digits=6) for what in ("allocated", "reserved"))
    columns = (Column("memory_at", "ms"), *held)
    chart = Chart("lines", "memory_at", ("memory_allocated", "memory_reserved"), "MB")
    return Report(stage, "memory_curve", findings, Table(columns, rows), chart, tier=profile.tier)
