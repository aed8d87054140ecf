"""Could every event be used? One without a time, or with a negative one, is left out and counted."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile

CODE = "PRF304"


def check(profile: Profile) -> Iterator[Finding]:
    for reason, count in sorted(profile.trace.left_out.items()):
        yield Finding(CODE, Status.WARN, f"PRF304.{reason}", {"count": count, "events": len(profile.trace)})
    if not profile.trace.left_out:
        yield Finding(CODE, Status.OK, "PRF304.all", {"events": len(profile.trace)})
