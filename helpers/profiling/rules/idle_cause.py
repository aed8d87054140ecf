"""Why does the device rest? The largest cause of its idle time; each piece of it has exactly one.

What the causes mean is said in the table (profiling.idle_means). Their bounds are parts of PRF311's and PRF313's.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF321"
BASIS = "reasoned"
WORTH, MUCH = 0.10, 0.25


def check(profile: Profile) -> Iterator[Finding]:
    if not profile.trace.on_device:
        raise CannotCheck("PRF321.no_device")
    if len(profile.trace.devices) > 1:
        raise CannotCheck("PRF321.devices", count=len(profile.trace.devices))
    causes = profile.idle
    idle, total = sum(causes.values()), sum(step.total_ns for step in profile.breakdown.steady)
    if not idle:
        yield Finding(CODE, Status.OK, "PRF321.none")
        return
    if causes["unexplained"] == idle:
        raise CannotCheck("PRF321.no_launches", share=round(100 * idle / total, 1))
    cause = max(causes, key=lambda one: causes[one])
    args: dict[str, Scalar] = {
        "share": round(100 * idle / total, 1),
        "cause": {"say": f"profiling.idle.{cause}"},
        "cause_share": round(100 * causes[cause] / idle, 1),
        "gain_ms": profile.ms(causes[cause] / total * profile.breakdown.step_ns),
    }
    status = Status.NOTE if causes[cause] >= WORTH * total else Status.OK
    yield Finding(CODE, status, f"PRF321.{cause}", args, weight=100 * causes[cause] / total)
