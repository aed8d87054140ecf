"""Does the step wait for collectives? Only what no computing hides counts: that is what overlapping could save."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.profiling.savings import saving
from helpers.rules import CannotCheck

CODE = "PRF312"


def check(profile: Profile) -> Iterator[Finding]:
    if not profile.trace.count("communication"):
        yield Finding(CODE, Status.OK, "PRF312.none")
    elif profile.simulated:
        raise CannotCheck("PRF312.simulated", share=round(100 * profile.breakdown.share("communication"), 1))
    else:
        yield saving(profile, CODE, profile.breakdown.share("communication"), good="hidden", bad="exposed")
