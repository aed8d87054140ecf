"""Does one computing operator cost more than the others? Making it free is the most that work on it can bring.

Collectives and copies are not among these: PRF312 and PRF315 judge what they cost.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF331"
BASIS = "reasoned"
MUCH = 0.30


def check(profile: Profile) -> Iterator[Finding]:
    if not profile.conclusive:
        raise CannotCheck("PRF331.blind")
    if profile.simulated:
        raise CannotCheck("PRF331.simulated")
    computing = [one for one in profile.operators if one.kind in ("compute", "host_op")]
    if not computing:
        raise CannotCheck("PRF331.no_operators")
    first = computing[0]
    per_step = first.self_ns / len(profile.breakdown.steady)
    share = per_step / profile.breakdown.step_ns
    args: dict[str, Scalar] = {"operator": first.name, "share": round(100 * share, 1)}
    args["computing_share"] = _percent(first.self_ns, sum(one.self_ns for one in computing))
    args["gain_ms"] = profile.ms(min(per_step, profile.breakdown.step_ns))  # several streams can exceed the step
    much = share >= MUCH
    status, key = (Status.NOTE, "PRF331.one") if much else (Status.OK, "PRF331.many")
    yield Finding(CODE, status, key, args, weight=100 * share)


def _percent(part: int, whole: int) -> float | None:
    """None where none of the operators takes any time."""
    return round(100 * part / whole, 1) if whole else None
