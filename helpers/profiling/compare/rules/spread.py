"""Is the difference larger than that between steps of one side? If not, it may be chance."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.compare.facts import Comparison
from helpers.rules import CannotCheck

CODE = "PRF383"
BASIS = "reasoned"


def check(compared: Comparison) -> Iterator[Finding]:
    sides = (compared.baseline.profile, compared.target.profile)
    if max(len(one.breakdown.steady) for one in sides) < 2:
        raise CannotCheck("PRF383.one_step")
    spread = compared.spread_ns()
    args = {"spread_ms": spread / 1e6, "difference_ms": abs(compared.difference_ns) / 1e6}
    within = abs(compared.difference_ns) <= spread
    status, key = (Status.NOTE, "within") if within else (Status.OK, "beyond")
    yield Finding(CODE, status, f"PRF383.{key}", dict(args))
