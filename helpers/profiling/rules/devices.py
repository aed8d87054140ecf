"""Are kernels of several devices in one trace? One process with several cards (DataParallel) records them together.

A part of the step then goes on where at least one device is at it, and free is what all of them rest: two devices that
compute in turns look like one that never rests. So each device's own share is told, and causes of idle time are not.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.words import Scalar

CODE = "PRF308"
BASIS = "facts"


def check(profile: Profile) -> Iterator[Finding]:
    trace, steady = profile.trace, profile.breakdown.steady
    if len(trace.devices) < 2:
        return
    device, kernels = trace.device_of(), trace.where(("compute",))
    total = sum(step.total_ns for step in steady)
    told: list[Scalar] = []
    for one in trace.devices:
        at_work = trace.intervals(kernels & (device == one))
        busy = sum(at_work.within(step.start_ns, step.end_ns).length_ns for step in steady)
        share = round(100 * busy / total, 1)
        told.append({"say": "profiling.device_share", "args": {"device": one or "-", "share": share}})
    together = round(100 * profile.breakdown.share("computing"), 1)
    args: dict[str, Scalar] = {"count": len(trace.devices), "devices": told, "together": together}
    yield Finding(CODE, Status.WARN, "PRF308.several", args)
