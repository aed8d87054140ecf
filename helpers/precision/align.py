"""The stage's verdict: the loss curves read in the light of the comparison by tensor."""

from __future__ import annotations

from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.report import Report, overview

#: Relative L2 error of what the first operator of the second step reads, its weights among it. Rounding and HF32
#: leave about 1e-5 after one update; an optimizer that is off by half leaves the update's own size, 1e-3 and more.
UPDATE_LIMIT = 1e-4


def align(curves: Report, comparison: Report) -> Report:
    """Both reports as one. Losses that part are explained as amplified rounding where the first and the last
    step were compared by tensor, no operator adds more than rounding, and the first update left the weights
    equal to within rounding; otherwise they stay a warning."""
    findings = tuple(_explained(found, curves, comparison) for found in curves.findings)
    read = replace(curves, findings=findings)
    worst = max(read.status, comparison.status)
    if worst < Status.WARN:  # a remark on the curves does not take the headline from "no divergence"
        named = (replace(found, status=worst) if found.rule == "ACC230" else found for found in comparison.findings)
        comparison = replace(comparison, findings=tuple(named))
    return overview("precision", "align", [read, comparison], tier=comparison.tier)


def _explained(found: Finding, curves: Report, comparison: Report) -> Finding:
    steps = curves.table.values("step") if curves.table else []
    dumped = comparison.facts.get("steps", [])
    if found.key != "ACC250.apart" or comparison.status >= Status.WARN or not steps or not dumped:
        return found
    if dumped[0] != 0 or dumped[-1] != len(steps) - 1 or not _updates_agree(comparison):
        return found
    return replace(found, key="ACC250.amplified", status=Status.NOTE, args={**found.args, "dumped": dumped})


def _updates_agree(comparison: Report) -> bool:
    """Whether the weights after the first update are known to agree: the update itself is not captured, so an
    optimizer that computes wrong values shows only here. Unknown where the second step was not captured."""
    if comparison.table is None:
        return False
    steps, errors = comparison.table.values("step"), comparison.table.values("error_in")
    first = next((error for step, error in zip(steps, errors) if step == 1), None)
    return isinstance(first, (int, float)) and first <= UPDATE_LIMIT
