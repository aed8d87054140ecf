"""What a comparison with a bundle says beside its operators: the curves, and what a bundle cannot tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers.finding import Finding, Status
from helpers.precision.align import explained
from helpers.precision.baselines.bundle import Bundle
from helpers.precision.baselines.reading import Opened
from helpers.precision.curves import curves
from helpers.precision.curves.readers.find import GPULOG
from helpers.report import Report
from helpers.words import Scalar


def with_bundle(report: Report, baseline: Opened, target: Opened) -> Report:
    """The comparison as it is where neither side is a bundle; else with the curves' findings and what is not known.

    facts["bundles"] has by side what was recorded beside: hardware, throughput, memory, metrics.
    """
    sides = {"baseline": baseline, "target": target}
    facts = {**report.facts, **{name: str(Path(side.place).absolute()) for name, side in sides.items()}}
    bundles = {name: side.bundle for name, side in sides.items() if side.bundle}
    if not bundles:
        return replace(report, facts=facts)
    found = [_left_out(name, bundle) for name, bundle in bundles.items()]
    if all((side.folder / GPULOG).is_file() for side in sides.values()):
        lines = curves(baseline.place, target.place)
        found += [explained(one, lines, report) for one in lines.findings]
        facts["curves"] = lines.facts
    else:
        found.append(Finding("ACC284", Status.SKIPPED, "ACC284.no_curves", {"name": GPULOG}))
    facts["bundles"] = {name: _beside(bundle) for name, bundle in bundles.items()}
    return replace(report, findings=(*report.findings, *found), facts=facts)


def _left_out(side: str, bundle: Bundle) -> Finding:
    args: dict[str, Scalar] = {"side": {"say": f"precision.side_{side}"}, "machine": bundle.machine,
                               "recorded": bundle.recorded}  # fmt: skip
    key = "ACC284.statistics" if bundle.statistics else "ACC284.curves"
    return Finding("ACC284", Status.SKIPPED, key, args)


def _beside(bundle: Bundle) -> dict[str, Any]:
    return {name: getattr(bundle, name) for name in ("recorded", "hardware", "throughput", "memory", "metrics")}
