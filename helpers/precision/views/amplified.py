"""Losses that part, read in the light of the comparison by tensor: amplified rounding, or what no tensor explains."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.precision.curves import rows
from helpers.precision.tensors.tolerance import AMPLIFICATION
from helpers.precision.views.questions import unseen
from helpers.report import Report
from helpers.words import Scalar

#: Rule that says where the optimizer's update parted the weights, or was not looked at.
UPDATE = "ACC235"
#: Rules from here on are of curves, bundles and attempts; those before it are of the comparison by tensor.
OF_CURVES = "ACC250"
#: Of longer runs the table of losses lacks steps.
MOST = rows.MOST
#: Answers of the comparison that found an error, and none too large. Without any there is nothing to amplify.
ROUNDING = ("ACC230.none", "ACC230.reduced")


def explained(found: Finding, losses: Report, comparison: Report) -> Finding:
    """The finding; where losses part though no operator does, as what it is then: behind the last dumped step, which
    is to be dumped; at a dumped step by far more than any tensor of it (what makes that was not recorded); else a NOTE,
    where both ends, the update and all between were looked at and showed rounding."""
    steps = [int(str(step)) for step in losses.table.values("step")] if losses.table else []
    dumped = comparison.facts.get("steps", [])
    if found.key != "ACC250.apart" or comparison.status >= Status.WARN or not steps or not dumped:
        return found
    at = int(str(found.args["step"])) - steps[0]  # logs count steps from 1, dumps from 0
    if at > dumped[-1]:
        return replace(found, key="ACC250.later", args={**found.args, "dumped": dumped, "at": at})
    if not _rounding(comparison):
        return found
    beside = _beside(losses, comparison, float(str(found.args["tolerance"])))
    if beside:
        return replace(found, key="ACC250.beside", args={**found.args, **beside})
    if dumped[0] != 0 or dumped[-1] != steps[-1] - steps[0] or any(one.rule == UPDATE for one in comparison.findings):
        return found
    return replace(found, key="ACC250.amplified", status=Status.NOTE, args={**found.args, "dumped": dumped})


def _rounding(comparison: Report) -> bool:
    """Whether the tensors were wholly looked at and differ, by no more than rounding."""
    told = [one for one in comparison.findings if one.rule < OF_CURVES]
    return any(one.key in ROUNDING for one in told) and not any(map(unseen, told))


def _beside(losses: Report, comparison: Report, tolerance: float) -> dict[str, Scalar]:
    """The first dumped step whose losses differ by far more than any of its tensors does; empty where there is none."""
    assert losses.table
    largest = _largest(comparison)
    for step, gap in enumerate(losses.table.values("relative_error")) if len(losses.table.rows) < MOST else ():
        if step in largest and isinstance(gap, float) and gap > max(tolerance, AMPLIFICATION * largest[step]):
            return {"at": step, "gap": gap, "most": largest[step]}
    return {}


def _largest(comparison: Report) -> dict[int, float]:
    """The largest tensor error of each dumped step."""
    found: dict[int, float] = defaultdict(float)
    if comparison.table and comparison.table.rows:
        for step, *errors in zip(*(comparison.table.values(name) for name in ("step", "error_in", "error_out"))):
            found[step] = max(found[step], *(float(str(error)) for error in errors if error is not None), 0.0)
    return found
