"""Does the host wait for the device, and does the device then run dry?

`loss.item()`, `.cpu()` and `synchronize()` make the host wait until the device has nothing left to do; what
counts is the device's idle time that begins while the host waits.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.breakdown import gaps_begun_in, idle_gaps
from helpers.profiling.facts import Profile
from helpers.profiling.savings import saving
from helpers.rules import CannotCheck

CODE = "PRF314"


def check(profile: Profile) -> Iterator[Finding]:
    if profile.tier == "cpu":
        yield Finding(CODE, Status.OK, "PRF314.cpu")
        return
    if not profile.device_times:
        raise CannotCheck("PRF314.no_device", calls=_item_calls(profile))
    if not profile.trace.count("host_op", "runtime"):
        raise CannotCheck("PRF314.no_host")
    steady = profile.breakdown.steady
    lost = gaps_begun_in(idle_gaps(profile.trace, steady), profile.waiting)
    share = lost / sum(step.total_ns for step in steady)
    yield saving(profile, CODE, share, good="harmless", bad="dry")


def _item_calls(profile: Profile) -> float:
    """Values read from a tensor, a step."""
    calls = sum(one.calls for one in profile.operators if one.name == "aten::_local_scalar_dense")
    return calls / len(profile.breakdown.steady)
