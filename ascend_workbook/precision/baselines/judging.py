"""What a comparison with a bundle says beside its operators: the curves, and what a bundle cannot tell."""

from __future__ import annotations

from dataclasses import replace

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.baselines.reading import Opened
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.curves.readers import GPULOG
from ascend_workbook.precision.views.answers import explain_losses


def add_bundle_findings(report: Report, baseline: Opened, target: Opened) -> Report:
    """The comparison as it is where neither side is a bundle; else with the curves' findings and what is not known.

    facts["bundles"] has by side what was recorded beside: hardware, throughput, memory, metrics."""
    sides = {"baseline": baseline, "target": target}
    report = target.rename_folder(baseline.rename_folder(report))
    facts = {**report.facts, **{name: side.address for name, side in sides.items()}}
    bundles = {name: side.bundle for name, side in sides.items() if side.bundle}
    if not bundles:
        return replace(report, facts=facts)
    findings = []
    for name, bundle in bundles.items():
        side = Sentence(f"precision.side_{name}")
        args: dict[str, Scalar] = {"side": side, "machine": bundle.describe_machine, "recorded": bundle.recorded}
        key = "ACC284.statistics" if bundle.statistics else "ACC284.curves"
        findings.append(Finding("ACC284", Status.NOT_LOOKED, key, args))
    try:
        lines = lines_of(baseline, target)
        findings += [explain_losses(finding, lines, report) for finding in lines.findings]
        facts["curves"] = lines.facts
    except WorkbookError as cause:
        findings.append(Finding("ACC284", Status.NOT_LOOKED, cause.key, cause.arguments))
    beside = ("recorded", "hardware", "throughput", "memory", "metrics")
    facts["bundles"] = {name: {key: getattr(bundle, key) for key in beside} for name, bundle in bundles.items()}
    return replace(report, findings=(*report.findings, *findings), facts=facts)


def lines_of(baseline: Opened, target: Opened) -> Report:
    """Compare the curves of both sides' run logs; facts["first_relative"] is the difference of the first common step.

    Raises WorkbookError where one has none, or no loss in it."""
    if not all((side.folder / GPULOG).is_file() for side in (baseline, target)):
        raise WorkbookError("ACC284.no_curves", name=GPULOG)
    lines = curves(baseline.place, target.place)
    first = lines.table.column_values("relative_error")[0] if lines.table and lines.table.rows else None
    return replace(lines, facts={**lines.facts, "first_relative": first if isinstance(first, (int, float)) else None})
