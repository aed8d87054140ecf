"""Are steps marked, which of them were looked at, and was the first one left out as warm-up?

torch marks a step where the script, or who runs it, calls `profiler.step()`.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.profiling.trace import Looked
from helpers.words import Scalar

CODE = "PRF302"
BASIS = "facts"
#: Of a rank that was looked at in other steps than the other ranks
OTHERS = ("PRF302.others", "PRF302.others_unmarked")


def check(profile: Profile) -> Iterator[Finding]:
    steps = profile.breakdown.steps
    for one in profile.trace.remarks:
        yield Finding(CODE, Status.WARN if one["say"] in OTHERS else Status.NOTE, one["say"], one["args"])
    if profile.trace.looked:
        yield from _some(profile, profile.trace.looked)
    elif not profile.trace.marked:
        yield Finding(CODE, Status.NOTE, "PRF302.unmarked")
    elif len(steps) < 3:
        yield Finding(CODE, Status.NOTE, "PRF302.few", {"steps": len(steps)})
    else:
        args: dict[str, Scalar] = {"steps": len(steps), "first_ms": profile.ms(steps[0].total_ns)}
        args["step_ms"] = profile.ms(profile.breakdown.step_ns)
        yield Finding(CODE, Status.OK, "PRF302.first", args)


def _some(profile: Profile, looked: Looked) -> Iterator[Finding]:
    """Of a profile of which some steps were looked at: which, and how like the others they are."""
    steps, steady, args = profile.breakdown.steps, profile.breakdown.steady, args_of(profile, looked)
    if not profile.trace.leads_in:
        args.update(first_ms=profile.ms(steps[0].total_ns), steady=steady[0].number)
    key = "some" if profile.trace.leads_in else "warming" if len(steady) < len(steps) else "cold"
    yield Finding(CODE, Status.NOTE, f"PRF302.{key}", args)
    if looked.behind:
        yield Finding(CODE, Status.WARN, "PRF302.behind", args)


def args_of(profile: Profile, looked: Looked) -> dict[str, Scalar]:
    """What a finding about them says: which steps of how many, their mean, that of all, the slowest of the others."""
    args: dict[str, Scalar] = {"first": looked.first, "last": looked.last, "steps": looked.steps}
    args.update(step_ms=profile.ms(profile.breakdown.step_ns), mean_ms=profile.ms(looked.mean_ns))
    args.update(slowest=looked.slowest, slowest_ms=profile.ms(looked.slowest_ns))
    return args
