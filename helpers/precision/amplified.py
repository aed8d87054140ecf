"""Losses that part as amplified rounding: a curve's finding read in the light of the comparison by tensor."""

from __future__ import annotations

from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.report import Report

#: Rule that says where the optimizer's update parted the weights, or was not looked at.
UPDATE = "ACC235"


def explained(found: Finding, losses: Report, comparison: Report) -> Finding:
    """The finding; where losses part though no operator does, and both ends and the update were looked at, a NOTE."""
    steps = losses.table.values("step") if losses.table else []
    dumped = comparison.facts.get("steps", [])
    if found.key != "ACC250.apart" or comparison.status >= Status.WARN or not steps or not dumped:
        return found
    if dumped[0] != 0 or dumped[-1] != len(steps) - 1 or any(one.rule == UPDATE for one in comparison.findings):
        return found
    return replace(found, key="ACC250.amplified", status=Status.NOTE, args={**found.args, "dumped": dumped})
