"""The roofline as a report: a row per type of kernel, and what part of the chip's speed a step comes to."""

from __future__ import annotations

from ascend_workbook.estimates.chips import Chip
from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.device.roofline import Roofline
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import make_columns

#: Rows that are shown
SHOWN = 15


def model_utilisation(profile: Profile, roofline: Roofline) -> float:
    """Return what part of the chip's 16-bit speed the steps' multiplications come to, over the whole of the steps: what
    is computed anew counts too, as it is a profile of kernels and not of a model."""
    a_step = roofline.operations / profile.trace.recorded_steps
    return a_step / (profile.breakdown.step_ns / 1e9 * half_speed(roofline.found.chip))


def half_speed(chip: Chip) -> float:
    """Return the operations a second that the chip is told to reach in bfloat16."""
    return chip.cube_flops * chip.bfloat16_part


def report_roofline(profile: Profile, stage: str, findings: list[Finding]) -> list[Report]:
    """Report a row per type of kernel, the longest first; the findings alone where shapes or the chip are unknown."""
    roofline = profile.roofline
    if roofline is None:
        shown = tuple(findings) if profile.tier == "npu" else ()
        return [Report(stage, "roofline", shown, tier=profile.tier)] if shown else []
    total = sum(row.seconds for row in roofline.rows) or 1.0
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (
            row.type,
            row.kernels,
            1e3 * row.seconds,
            100 * row.seconds / total,
            row.operations / row.seconds / 1e12 if row.operations else None,
            row.bytes / row.seconds / 1e9,
            100 * row.share_of_peak,
            Sentence(f"profiling.roofline.{row.bound}"),
        )
        for row in roofline.rows[:SHOWN]
    )
    costs = make_columns(roofline_kernel="", kernels="", recorded_time="ms", share="%")
    reached = make_columns(reached_speed="TFLOPS", reached_bandwidth="GB/s", roofline_share="%")
    columns = (*costs, *reached, Column("roofline_bound"))
    chart = Chart("bars", "roofline_kernel", ("roofline_share",), "%")
    chip = roofline.found.chip
    facts = {
        "chip": {"name": chip.name, "named": roofline.found.named, "alike": list(roofline.found.alike)},
        "peak_flops": chip.cube_flops,
        "bandwidth_bytes_s": chip.bandwidth_bytes_s,
        "utilisation": model_utilisation(profile, roofline),
        "known": roofline.known,
        "source": dict(chip.source),
    }
    table = Table(columns, rows)
    return [Report(stage, "roofline", tuple(findings), table, chart, facts=facts, tier=profile.tier)]
