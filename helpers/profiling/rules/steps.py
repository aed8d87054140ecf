"""Are steps marked, and was the first one left out as warm-up?

torch marks a step where the script, or who runs it, calls `profiler.step()`.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.words import Scalar

CODE = "PRF302"


def check(profile: Profile) -> Iterator[Finding]:
    steps = profile.breakdown.steps
    if not profile.trace.marked:
        yield Finding(CODE, Status.NOTE, "PRF302.unmarked")
    elif len(steps) < 3:
        yield Finding(CODE, Status.NOTE, "PRF302.few", {"steps": len(steps)})
    else:
        args: dict[str, Scalar] = {"steps": len(steps), "first_ms": profile.ms(steps[0].total_ns)}
        args["step_ms"] = profile.ms(profile.breakdown.step_ns)
        yield Finding(CODE, Status.OK, "PRF302.first", args)
