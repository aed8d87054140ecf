"""Could every event be used? One without a time, or with a negative one, is left out and counted; of a file that
was cut short, what is whole is read. Steps
whose numbers do not rise with time tell of a clock that went back. A slower reader gives the same, and is told."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.words import Scalar

CODE = "PRF304"
BASIS = "facts"


def check(profile: Profile) -> Iterator[Finding]:
    for reason, count in sorted(profile.trace.left_out.items()):
        yield Finding(CODE, Status.WARN, f"PRF304.{reason}", {"count": count, "events": len(profile.trace)})
    steps = profile.trace.steps
    back = next((later.number for one, later in zip(steps, steps[1:]) if later.number < one.number), None)
    if back is not None and profile.trace.marked:
        yield Finding(CODE, Status.WARN, "PRF304.backwards", {"step": back})
    if profile.trace.cut_at is not None:
        args: dict[str, Scalar] = {"path": profile.trace.source, "byte": profile.trace.cut_at}
        args["events"] = len(profile.trace)
        yield Finding(CODE, Status.WARN, "PRF304.cut_short", args)
    if profile.trace.slower:
        yield Finding(CODE, Status.NOTE, "PRF304.slower", {"reason": profile.trace.slower})
    if profile.trace.cut_at is None and not profile.trace.left_out:
        yield Finding(CODE, Status.OK, "PRF304.all", {"events": len(profile.trace)})
