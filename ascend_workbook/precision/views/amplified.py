"""Losses that part, read in the light of the comparison by tensor: amplified rounding, or what no tensor explains."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.curves import rows
from ascend_workbook.precision.tensors.tolerance import AMPLIFICATION
from ascend_workbook.precision.views.questions import is_unseen

#: Rule that says where the optimizer's update parted the weights, or was not looked at.
UPDATE = "ACC235"
#: Rules from here on are of curves, bundles and attempts; those before it are of the comparison by tensor.
OF_CURVES = "ACC250"
#: Of longer runs the table of losses lacks steps.
MOST = rows.MOST
#: Answers of the comparison that found an error, and none too large. Without any there is nothing to amplify.
ROUNDING = ("ACC230.none", "ACC230.reduced")


def explain_losses(finding: Finding, losses: Report, comparison: Report) -> Finding:
    """The finding; where losses part though no operator does, as what it is then: behind the last dumped step, which
    is to be dumped; at a dumped step by far more than any tensor of it (what makes that was not recorded); else a NOTE,
    where both ends, the update and all between were looked at and showed rounding."""
    steps = [int(str(step)) for step in losses.table.column_values("step")] if losses.table else []
    dumped = comparison.facts.get("steps", [])
    if finding.key != "ACC250.apart" or comparison.status >= Status.WARN or not steps or not dumped:
        return finding
    at = int(str(finding.args["step"])) - steps[0]  # logs count steps from 1, dumps from 0
    if at > dumped[-1]:
        return replace(finding, key="ACC250.later", args={**finding.args, "dumped": dumped, "at": at})
    if not _shows_rounding(comparison):
        return finding
    beside = _find_gap_beside(losses, comparison, float(str(finding.args["tolerance"])))
    if beside:
        return replace(finding, key="ACC250.beside", args={**finding.args, **beside})
    if (
        dumped[0] != 0
        or dumped[-1] != steps[-1] - steps[0]
        or any(remark.rule == UPDATE for remark in comparison.findings)
    ):
        return finding
    return replace(finding, key="ACC250.amplified", status=Status.NOTE, args={**finding.args, "dumped": dumped})


def _shows_rounding(comparison: Report) -> bool:
    """Return whether the tensors were wholly looked at and differ, by no more than rounding."""
    remarks = [finding for finding in comparison.findings if finding.rule < OF_CURVES]
    return any(finding.key in ROUNDING for finding in remarks) and not any(map(is_unseen, remarks))


def _find_gap_beside(losses: Report, comparison: Report, tolerance: float) -> dict[str, Scalar]:
    """Find the first dumped step whose losses differ by far more than any of its tensors does; empty where there is
    none.
    """
    assert losses.table
    largest = _largest_errors(comparison)
    for step, gap in enumerate(losses.table.column_values("relative_error")) if len(losses.table.rows) < MOST else ():
        if step in largest and isinstance(gap, float) and gap > max(tolerance, AMPLIFICATION * largest[step]):
            return {"at": step, "gap": gap, "most": largest[step]}
    return {}


def _largest_errors(comparison: Report) -> dict[int, float]:
    """Return the largest tensor error of each dumped step."""
    by_step: dict[int, float] = defaultdict(float)
    if comparison.table and comparison.table.rows:
        for step, *errors in zip(*(comparison.table.column_values(name) for name in ("step", "error_in", "error_out"))):
            by_step[step] = max(by_step[step], *(float(str(error)) for error in errors if error is not None), 0.0)
    return by_step
