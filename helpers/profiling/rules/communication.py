"""Does the step wait for collectives? Only what no computing hides counts: that is what overlapping could save.

Where the profile tells that most of it is waiting for a rank that comes late, or exchange between two ranks (pipeline
stages), that is named: neither buckets nor overlap shorten it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.profiling.savings import saving
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF312"
BASIS = "reasoned"
WORTH = 0.03


def check(profile: Profile) -> Iterator[Finding]:
    share = profile.breakdown.share("communication")
    if not profile.trace.count("communication"):
        yield Finding(CODE, Status.OK, "PRF312.none")
    elif profile.simulated:
        raise CannotCheck("PRF312.simulated", share=round(100 * share, 1))
    else:
        what, part_ns = _largest(profile)
        total = sum(step.total_ns for step in profile.breakdown.steady)
        found = saving(profile, CODE, min(share, part_ns / total), worth=WORTH, good="hidden", bad=what)
        peer: Scalar = {"say": "ranks.of_its_group", "args": {"number": profile.exposed.peer}}
        peer = peer if profile.exposed.peer >= 0 else {"say": "ranks.nobody"}
        yield replace(found, args={**found.args, "waited": peer, "whole": round(100 * share, 1)})


def _largest(profile: Profile) -> tuple[str, float]:
    """What most of the exposed communication is, in nanoseconds of the steady steps: the rest is `exposed`."""
    found = profile.exposed
    total = sum(step.total_ns for step in profile.breakdown.steady)
    whole = profile.breakdown.share("communication") * total
    pairwise = found.transmission_ns["pairwise"] + found.waiting_ns["pairwise"]
    parts = {"waiting": sum(found.waiting_ns.values()) - found.waiting_ns["pairwise"], "pairwise": pairwise}
    most = max(parts, key=parts.__getitem__)
    return (most, parts[most]) if 2 * parts[most] > whole and parts[most] >= WORTH * total else ("exposed", whole)
