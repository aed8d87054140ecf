"""Is the device, or on a CPU the operators, at rest for much of the step?

Free time in which nothing loads data and nothing is copied: the host does not launch work fast enough, or
does something else. https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import saving
from helpers.rules import CannotCheck

CODE = "PRF311"


def check(profile: Profile) -> Iterator[Finding]:
    if not profile.conclusive:
        raise CannotCheck("PRF311.blind")
    where = "simulated" if profile.simulated else "device" if profile.device_times else "host"
    yield saving(profile, CODE, profile.breakdown.share("free"), good="busy", bad=where, worth=0.10, much=0.25)
