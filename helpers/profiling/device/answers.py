"""What the device does and why it rests, each as a report with one table."""

from __future__ import annotations

from helpers.finding import Finding
from helpers.profiling.device.launches import Launches
from helpers.profiling.device.units import Unit, units_of_table, units_of_trace
from helpers.profiling.facts import Profile
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

Rows = tuple[tuple[Scalar, ...], ...]


def device_answers(profile: Profile, stage: str, findings: list[Finding]) -> list[Report]:
    """Idle time by cause, launches, and on an NPU its units; none of a profile without a device."""
    if not profile.trace.on_device:
        return []
    by_code = {code: [one for one in findings if one.rule == code] for code in ("PRF321", "PRF322", "PRF323")}
    reports = [idle_time(profile, stage, by_code["PRF321"]), launching(profile, stage, by_code["PRF322"])]
    found = units_of(profile)
    return [*reports, units(profile, stage, found, by_code["PRF323"])] if found else reports


def idle_time(profile: Profile, stage: str, findings: list[Finding]) -> Report:
    """A row per cause, a mean step's time; they sum to its free and loading time. Where no launch is known the
    causes that launches tell are not known to be 0."""
    causes = profile.idle
    blind = causes["unexplained"] == sum(causes.values()) > 0
    total = sum(step.total_ns for step in profile.breakdown.steady)
    scale = profile.breakdown.step_ns / total / 1e6
    rows: Rows = tuple(
        (
            {"say": f"profiling.idle.{cause}"},
            *((None, None) if blind and not ns else (ns * scale, 100 * ns / total)),
            {"say": f"profiling.idle_means.{cause}"},
        )
        for cause, ns in causes.items()
    )
    columns = (Column("cause"), Column("profiling_time", "ms"), Column("share", "%"), Column("idle_meaning", wrap=60))
    chart = Chart("stack", "cause", ("profiling_time",), "ms")
    facts = {"idle_ns": {cause: ns * scale * 1e6 for cause, ns in causes.items()}}
    return Report(stage, "idle_time", tuple(findings), Table(columns, rows), chart, facts=facts, tier=profile.tier)


def launching(profile: Profile, stage: str, findings: list[Finding]) -> Report:
    """A row per number."""
    found = profile.launches
    steps = len(profile.breakdown.steady)
    rows: Rows = tuple(({"say": f"profiling.launch.{name}"}, *told) for name, *told in _numbers(found, steps))
    columns = (Column("launch_number"), Column("value"), Column("unit_of"))
    return Report(stage, "launching", tuple(findings), Table(columns, rows), tier=profile.tier)


def units_of(profile: Profile) -> list[Unit]:
    """By the table of kernels where there is one that names units, else by the timeline."""
    table = profile.kernels
    return (units_of_table(table) if table else []) or units_of_trace(profile.trace)


def units(profile: Profile, stage: str, found: list[Unit], findings: list[Finding]) -> Report:
    """A row per unit over all that was recorded: kernels, time, and what bound it."""
    total = sum(one.ns for one in found) or 1
    rows: Rows = tuple(
        (
            {"say": f"profiling.unit.{one.name or 'unnamed'}"},
            one.kernels,
            one.ns / 1e6,
            100 * one.ns / total,
            *(None if share is None else 100 * share for share in (one.by_computing, one.by_memory, one.by_neither)),
            one.cube_utilisation,
        )
        for one in found
    )
    bound = (Column(f"bound_by_{what}", "%") for what in ("computing", "memory", "neither"))
    columns = (Column("device_unit"), Column("kernels"), Column("recorded_time", "ms"), Column("share", "%"), *bound,
               Column("cube_utilisation", "%"))  # fmt: skip
    chart = Chart("stack", "device_unit", ("recorded_time",), "ms")
    return Report(stage, "units", tuple(findings), Table(columns, rows), chart, tier=profile.tier)


def _numbers(found: Launches, steps: int) -> list[tuple[str, float | None, str]]:
    latency = found.latency_ns or (None, None)
    queue = found.queue or (None, None)
    milli = [None if value is None else value / 1e6 for value in latency]
    return [
        ("kernels", found.kernels / steps, ""),
        ("launched", found.launched / steps, ""),
        ("mean", found.kernel_ns / found.kernels / 1000 if found.kernels else None, "us"),
        ("short", 100 * found.short / found.launched if found.launched else None, "%"),
        ("short_time", 100 * found.short_ns / found.kernel_ns if found.kernel_ns else None, "%"),
        ("latency", milli[0], "ms"),
        ("latency_high", milli[1], "ms"),
        ("queue", queue[0], ""),
        ("queue_high", queue[1], ""),
        ("known", 100 * found.known / found.of if found.of else None, "%"),
    ]
