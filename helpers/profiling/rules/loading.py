"""Does the step wait for its data? The time of a DataLoader's next() in which nothing else goes on.

torch records it as `enumerate(DataLoader)#...__next__`. It is the host's time: without a device, or with a simulated
one, it is as true as with an NPU, only its share of the step is another.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import saving
from helpers.rules import CannotCheck

CODE = "PRF313"
BASIS = "reasoned"


def check(profile: Profile) -> Iterator[Finding]:
    if not profile.conclusive:
        raise CannotCheck("PRF313.blind")
    if not profile.trace.count("loading"):
        raise CannotCheck("PRF313.unseen")
    bad = "waits" if profile.device_times else "host"
    yield saving(profile, CODE, profile.breakdown.share("loading"), good="hidden", bad=bad)
