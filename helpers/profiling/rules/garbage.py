"""Does Python collect garbage inside the steps while the device rests?

torch_npu records collections with gc_detect_threshold; elsewhere a Python stack that holds gc.collect tells them.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice
from helpers.rules import CannotCheck

CODE = "PRF393"
SOURCE = "https://docs.python.org/3/library/gc.html"


def check(profile: Profile) -> Iterator[Finding]:
    trace = profile.trace
    if not profile.conclusive or profile.simulated:
        raise CannotCheck("advice.no_device", topic={"say": "PRF393.topic"})
    collected = trace.named(lambda name: name == "GC" or "gc.collect" in name or "gc collect" in name)
    if not collected.any() and not trace.count("python"):
        raise CannotCheck("PRF393.unseen")
    collecting = trace.intervals(collected)
    steady = profile.breakdown.steady
    if trace.on_device:
        lost = profile.gaps.common_ns(collecting)
    else:
        lost = sum(collecting.within(step.start_ns, step.end_ns).length_ns for step in steady)
    share = lost / sum(step.total_ns for step in steady)
    yield advice(profile, "PRF393.change", share, SOURCE, calls=int(collecting.start_ns.size))
