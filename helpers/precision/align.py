"""The stage's verdict: the loss curves read in the light of the comparison by tensor."""

from __future__ import annotations

from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.report import Report, overview

#: Rule that says where the optimizer's update parted the weights, or was not looked at.
UPDATE = "ACC235"


def align(curves: Report, comparison: Report) -> Report:
    """Both reports as one. Losses that part are explained as amplified rounding where the first and the last
    step were compared by tensor, no operator adds more than rounding, and the first update left the weights
    equal to within rounding; otherwise they stay a warning."""
    findings = tuple(explained(found, curves, comparison) for found in curves.findings)
    read = replace(curves, findings=findings)
    worst = max(read.status, comparison.status)
    if worst < Status.WARN:  # a remark on the curves does not take the headline from "no divergence"
        named = (replace(found, status=worst) if found.rule == "ACC230" else found for found in comparison.findings)
        comparison = replace(comparison, findings=tuple(named))
    return overview("precision", "align", [read, comparison], tier=comparison.tier)


def explained(found: Finding, curves: Report, comparison: Report) -> Finding:
    """A curve's finding as it reads in the light of the comparison by tensor (see `align`)."""
    steps = curves.table.values("step") if curves.table else []
    dumped = comparison.facts.get("steps", [])
    if found.key != "ACC250.apart" or comparison.status >= Status.WARN or not steps or not dumped:
        return found
    if dumped[0] != 0 or dumped[-1] != len(steps) - 1 or any(one.rule == UPDATE for one in comparison.findings):
        return found
    return replace(found, key="ACC250.amplified", status=Status.NOTE, args={**found.args, "dumped": dumped})
