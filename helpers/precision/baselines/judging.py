"""What a comparison with a bundle says beside its operators: the curves, and what a bundle cannot tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.precision.baselines.bundle import Bundle
from helpers.precision.baselines.reading import Opened
from helpers.precision.curves import curves
from helpers.precision.curves.readers.find import GPULOG
from helpers.precision.views.amplified import explained
from helpers.report import Report
from helpers.words import Scalar


def with_bundle(report: Report, baseline: Opened, target: Opened) -> Report:
    """The comparison as it is where neither side is a bundle; else with the curves' findings and what is not known.

    facts["bundles"] has by side what was recorded beside: hardware, throughput, memory, metrics.
    """
    sides = {"baseline": baseline, "target": target}
    report = target.told(baseline.told(report))
    facts = {**report.facts, **{name: side.address for name, side in sides.items()}}
    bundles = {name: side.bundle for name, side in sides.items() if side.bundle}
    if not bundles:
        return replace(report, facts=facts)
    found = [_left_out(name, bundle) for name, bundle in bundles.items()]
    try:
        lines = lines_of(baseline, target)
        found += [explained(one, lines, report) for one in lines.findings]
        facts["curves"] = lines.facts
    except WorkbookError as cause:
        found.append(Finding("ACC284", Status.SKIPPED, cause.key, cause.arguments))
    facts["bundles"] = {name: _beside(bundle) for name, bundle in bundles.items()}
    return replace(report, findings=(*report.findings, *found), facts=facts)


def lines_of(baseline: Opened, target: Opened) -> Report:
    """The curves of both sides' run logs; facts["first_relative"] is the difference of the first common step.

    Raises WorkbookError where one has none, or no loss in it.
    """
    if not all((side.folder / GPULOG).is_file() for side in (baseline, target)):
        raise WorkbookError("ACC284.no_curves", name=GPULOG)
    lines = curves(baseline.place, target.place)
    first = lines.table.values("relative_error")[0] if lines.table and lines.table.rows else None
    return replace(lines, facts={**lines.facts, "first_relative": first if isinstance(first, (int, float)) else None})


def _left_out(side: str, bundle: Bundle) -> Finding:
    args: dict[str, Scalar] = {"side": {"say": f"precision.side_{side}"}, "machine": bundle.machine,
                               "recorded": bundle.recorded}  # fmt: skip
    key = "ACC284.statistics" if bundle.statistics else "ACC284.curves"
    return Finding("ACC284", Status.SKIPPED, key, args)


def _beside(bundle: Bundle) -> dict[str, Any]:
    return {name: getattr(bundle, name) for name in ("recorded", "hardware", "throughput", "memory", "metrics")}
