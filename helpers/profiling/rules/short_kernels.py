"""Are many kernels shorter than it takes to launch one? Then the host sets the pace.

Kernels of one launch (a CUDA graph's) cost the host one: they count as one.

https://www.hiascend.com/document (PyTorch training tuning, "host bound")
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF322"
MANY, WORTH = 0.5, 0.05
#: Of the step, waited for launches: from here it is told though the kernels are long enough
LATE = 0.10


def check(profile: Profile) -> Iterator[Finding]:
    if not profile.device_times:
        raise CannotCheck("PRF322.no_device")
    if len(profile.trace.devices) > 1:
        raise CannotCheck("PRF322.devices", count=len(profile.trace.devices))
    found = profile.launches
    if not found.kernels:
        raise CannotCheck("PRF322.no_kernels")
    if 2 * profile.idle["unexplained"] > sum(profile.idle.values()) or not found.known:
        raise CannotCheck("PRF322.no_launches", known=found.known, of=found.of)
    lost = profile.idle["host"] / sum(step.total_ns for step in profile.breakdown.steady)
    many = found.short / found.launched
    a_step = round(found.kernels / len(profile.breakdown.steady))
    args: dict[str, Scalar] = {"short": round(100 * many, 1), "kernels": a_step}
    args |= {"share": round(100 * lost, 1), "gain_ms": profile.ms(lost * profile.breakdown.step_ns)}
    slow = many >= MANY and lost >= WORTH
    status, key = (Status.NOTE, "PRF322.many") if slow else (Status.OK, "PRF322.few")
    if not slow and lost >= LATE:
        status, key = Status.NOTE, "PRF322.late"
    yield Finding(CODE, status, key, args, weight=100 * lost)
    if found.launched < found.kernels:
        told = {"kernels": a_step, "launches": round(found.launched / len(profile.breakdown.steady))}
        yield Finding(CODE, Status.OK, "PRF322.shared", dict(told))
