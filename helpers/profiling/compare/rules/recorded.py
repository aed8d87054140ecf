"""Was the same recorded? Python's stacks and the device's counters cost time themselves, so a profile with them is
slower than one without; a file cut short, or one step alone, weighs less."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.compare.facts import Comparison
from helpers.profiling.facts import Profile

CODE = "PRF382"
BASIS = "facts"
#: Of the rows of `recording`, those that only one side may have without the times being others
HARMLESS = ("steps", "tier")


def check(compared: Comparison) -> Iterator[Finding]:
    left, right = (recording(one.profile) for one in (compared.baseline, compared.target))
    apart = [name for name in left if name not in HARMLESS and bool(left[name]) != bool(right[name])]
    if apart:
        named = [{"say": f"compare.recorded.{name}"} for name in apart]
        yield Finding(CODE, Status.NOTE, "PRF382.apart", {"what": list(named)})
    else:
        yield Finding(CODE, Status.OK, "PRF382.same")
    few = min(len(one.profile.breakdown.steady) for one in (compared.baseline, compared.target))
    if few < 2:
        yield Finding(CODE, Status.NOTE, "PRF382.one_step")


def recording(profile: Profile) -> dict[str, str | int | bool]:
    """What a reader wants to know of each side before its times."""
    trace = profile.trace
    return {
        "tier": profile.tier,
        "steps": len(profile.breakdown.steady),
        "marked": trace.marked,
        "device": trace.on_device,
        "python": trace.count("python") > 0,
        "shapes": bool((trace.shape > 0).any()),
        "memory": trace.memory_records > 0,
        "whole": trace.cut_at is None,
    }
