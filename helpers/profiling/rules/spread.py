"""Are the steps alike? Where they are not, the mean of a few slow ones is no usual step."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF303"
BASIS = "reasoned"
ALLOWED = 0.2


def check(profile: Profile) -> Iterator[Finding]:
    steady = sorted(profile.breakdown.steady, key=lambda step: step.total_ns)
    if len(steady) < 3:
        raise CannotCheck("PRF303.few", steps=len(steady))
    slowest, middle = steady[-1], profile.breakdown.median_ns
    args: dict[str, Scalar] = {"step": slowest.number, "slowest_ms": profile.ms(slowest.total_ns)}
    args["step_ms"] = profile.ms(middle)
    slow = sum(step.total_ns > (1 + ALLOWED) * middle for step in steady)
    args |= {"slow": slow, "steps": len(steady), "mean_ms": profile.ms(profile.breakdown.step_ns)}
    apart = slow > 0
    yield Finding(CODE, Status.NOTE if apart else Status.OK, "PRF303.apart" if apart else "PRF303.alike", args)
