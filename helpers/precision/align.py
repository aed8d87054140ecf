"""The stage's verdict: the loss curves read in the light of the comparison by tensor."""

from __future__ import annotations

from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.report import Report, overview


def align(curves: Report, comparison: Report) -> Report:
    """Both reports as one. Losses that part are explained as amplified rounding where the first and the last
    step were compared by tensor and no operator adds more than rounding; otherwise they stay a warning."""
    findings = tuple(_explained(found, curves, comparison) for found in curves.findings)
    return overview("precision", "align", [replace(curves, findings=findings), comparison], tier=comparison.tier)


def _explained(found: Finding, curves: Report, comparison: Report) -> Finding:
    steps = curves.table.values("step") if curves.table else []
    dumped = comparison.facts.get("steps", [])
    if found.key != "ACC250.apart" or comparison.status >= Status.WARN or not steps or not dumped:
        return found
    if dumped[0] != 0 or dumped[-1] != len(steps) - 1:
        return found
    return replace(found, key="ACC250.amplified", status=Status.NOTE, args={**found.args, "dumped": dumped})
