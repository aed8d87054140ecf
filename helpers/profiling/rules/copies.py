"""Does the device wait for copies between host and device? Only what neither computing nor collectives hide."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.profiling.savings import saving
from helpers.rules import CannotCheck

CODE = "PRF315"
BASIS = "reasoned"


def check(profile: Profile) -> Iterator[Finding]:
    if profile.tier == "cpu":
        yield Finding(CODE, Status.OK, "PRF315.cpu")
        return
    if not profile.device_times:
        raise CannotCheck("PRF315.no_device")
    yield saving(profile, CODE, profile.breakdown.share("copy"), good="hidden", bad="exposed")
