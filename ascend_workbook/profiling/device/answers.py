"""What the device does and why it rests, each as a report with one table."""

from __future__ import annotations

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.device.units import Unit, units_of_table, units_of_trace
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import make_columns

Rows = tuple[tuple[Scalar, ...], ...]


def device_answers(profile: Profile, stage: str, findings: list[Finding]) -> list[Report]:
    """Report idle time by cause, launches, and on an NPU its units; none of a profile without a device."""
    if not profile.trace.on_device:
        return []
    by_code = {
        code: [finding for finding in findings if finding.rule == code] for code in ("PRF321", "PRF322", "PRF323")
    }
    reports = [report_idle(profile, stage, by_code["PRF321"]), report_launches(profile, stage, by_code["PRF322"])]
    table = profile.kernels  # which may name no units
    npu_units = (units_of_table(table) if table else []) or units_of_trace(profile.trace)
    return [*reports, report_units(profile, stage, npu_units, by_code["PRF323"])] if npu_units else reports


def report_idle(profile: Profile, stage: str, findings: list[Finding]) -> Report:
    """Report a row per cause, a mean step's time; they sum to its free and loading time. Where no launch is known the
    causes that launches tell are not known to be 0."""
    causes = profile.idle
    blind = causes["unexplained"] == sum(causes.values()) > 0
    total = profile.breakdown.total_ns
    scale = profile.breakdown.step_ns / total / 1e6
    rows: Rows = tuple(
        (
            Sentence(f"profiling.idle.{cause}"),
            *((None, None) if blind and not ns else (ns * scale, 100 * ns / total)),
            Sentence(f"profiling.idle_means.{cause}"),
        )
        for cause, ns in causes.items()
    )
    columns = (Column("cause"), Column("profiling_time", "ms"), Column("share", "%"), Column("idle_meaning", wrap=60))
    chart = Chart("stack", "cause", ("profiling_time",), "ms")
    facts = {"idle_ns": {cause: ns * scale * 1e6 for cause, ns in causes.items()}}
    return Report(stage, "idle_time", tuple(findings), Table(columns, rows), chart, facts=facts, tier=profile.tier)


def report_launches(profile: Profile, stage: str, findings: list[Finding]) -> Report:
    """Report a row per number of the launches."""
    launches, steps = profile.launches, len(profile.breakdown.steady)
    latency = [None if value is None else value / 1e6 for value in launches.latency_ns or (None, None)]
    queue = launches.queue or (None, None)
    numbers = (
        ("kernels", launches.kernels / steps, ""),
        ("launched", launches.launched / steps, ""),
        ("mean", launches.kernel_ns / launches.kernels / 1000 if launches.kernels else None, "us"),
        ("short", 100 * launches.short / launches.launched if launches.launched else None, "%"),
        ("short_time", 100 * launches.short_ns / launches.kernel_ns if launches.kernel_ns else None, "%"),
        ("latency", latency[0], "ms"),
        ("latency_high", latency[1], "ms"),
        ("queue", queue[0], ""),
        ("queue_high", queue[1], ""),
        ("known", 100 * launches.known / launches.of if launches.of else None, "%"),
    )
    rows: Rows = tuple((Sentence(f"profiling.launch.{name}"), value, unit) for name, value, unit in numbers)
    columns = (Column("launch_number"), Column("value"), Column("unit_of"))
    return Report(stage, "launching", tuple(findings), Table(columns, rows), tier=profile.tier)


def report_units(profile: Profile, stage: str, npu_units: list[Unit], findings: list[Finding]) -> Report:
    """Report a row per unit over all that was recorded: kernels, time, and what bound it."""
    total = sum(unit.ns for unit in npu_units) or 1
    rows: Rows = tuple(
        (
            Sentence(f"profiling.unit.{unit.name or 'unnamed'}"),
            unit.kernels,
            unit.ns / 1e6,
            100 * unit.ns / total,
            *(None if share is None else 100 * share for share in (unit.by_computing, unit.by_memory, unit.by_neither)),
            unit.cube_utilisation,
        )
        for unit in npu_units
    )
    bound = make_columns(bound_by_computing="%", bound_by_memory="%", bound_by_neither="%", cube_utilisation="%")
    columns = (*make_columns(device_unit="", kernels="", recorded_time="ms", share="%"), *bound)
    chart = Chart("stack", "device_unit", ("recorded_time",), "ms")
    return Report(stage, "units", tuple(findings), Table(columns, rows), chart, tier=profile.tier)
