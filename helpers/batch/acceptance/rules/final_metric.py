"""ACP525: each metric that is aimed at ends within its target of the baseline's last value."""

from __future__ import annotations

import math
from collections.abc import Iterator

from helpers.batch.acceptance.evidence import Evidence, judged
from helpers.batch.plan.model import MetricTarget
from helpers.finding import Finding
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE, GROUP = "ACP525", "precision"
BASIS = "defined"


def check(facts: Evidence) -> Iterator[Finding]:
    if not facts.targets.metrics:
        raise CannotCheck("accept.no_metric_target")
    found = facts.on_npu("curves")
    finals = found.report.facts.get("final") or {}
    told: list[Scalar] = []
    met = True
    for wanted in facts.targets.metrics:
        pair = finals.get(wanted.name)
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_number, pair)):
            raise CannotCheck("accept.no_metric", name=wanted.name, known=sorted(finals))
        reached = _within(wanted, *map(float, pair))
        met = met and reached
        args: dict[str, Scalar] = {"name": wanted.name, "baseline": pair[0], "target": pair[1],
                                   "steps": found.report.facts.get("steps_compared"),
                                   "within": _shown(wanted)}  # fmt: skip
        told.append({"say": f"accept.metric.{'met' if reached else 'missed'}", "args": args})
    yield judged(CODE, found, met, told)


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(wanted: MetricTarget) -> str:
    return f"{100 * wanted.within:.4g} %" if wanted.relative else f"{wanted.within:.4g}"


def _within(wanted: MetricTarget, baseline: float, target: float) -> bool:
    """NaN and infinity are within nothing."""
    if not (math.isfinite(baseline) and math.isfinite(target)):
        return False
    return abs(target - baseline) <= wanted.within * (abs(baseline) if wanted.relative else 1.0)
