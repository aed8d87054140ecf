"""Losses that part as amplified rounding: a curve's finding read in the light of the comparison by tensor."""

from __future__ import annotations

from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.precision.views.questions import unseen
from helpers.report import Report

#: Rule that says where the optimizer's update parted the weights, or was not looked at.
UPDATE = "ACC235"
#: Rules from here on are of curves, bundles and attempts; those before it are of the comparison by tensor.
OF_CURVES = "ACC250"
#: Answers of the comparison that found an error, and none too large. Without any there is nothing to amplify.
ROUNDING = ("ACC230.none", "ACC230.reduced")


def explained(found: Finding, losses: Report, comparison: Report) -> Finding:
    """The finding; where losses part though no operator does, and both ends, the update and all between were looked
    at and showed rounding, a NOTE."""
    steps = losses.table.values("step") if losses.table else []
    dumped = comparison.facts.get("steps", [])
    if found.key != "ACC250.apart" or comparison.status >= Status.WARN or not steps or not dumped:
        return found
    if dumped[0] != 0 or dumped[-1] != len(steps) - 1 or any(one.rule == UPDATE for one in comparison.findings):
        return found
    if not _rounding(comparison):
        return found
    return replace(found, key="ACC250.amplified", status=Status.NOTE, args={**found.args, "dumped": dumped})


def _rounding(comparison: Report) -> bool:
    """Whether the tensors were wholly looked at and differ, by no more than rounding."""
    told = [one for one in comparison.findings if one.rule < OF_CURVES]
    return any(one.key in ROUNDING for one in told) and not any(map(unseen, told))
