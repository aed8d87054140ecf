"""How much memory did the step take at its peak, and how much more was reserved for it?"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.device.memory import peak_of, recorded
from helpers.profiling.facts import Profile
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF324"
BASIS = "facts"


def check(profile: Profile) -> Iterator[Finding]:
    tables = recorded(profile)
    if tables is None:
        raise CannotCheck("PRF324.absent" if profile.trace.dialect == "ascend" else "PRF324.no_table")
    peak = peak_of(tables)
    first = next(iter(peak.holders), None)
    args: dict[str, Scalar] = {
        "mb": round(peak.allocated_mb),
        "at_ms": profile.ms(peak.at_ns - int(tables.at_ns[0])),
        "reserved": round(peak.reserved_mb),
        "unused": round(100 * peak.unused, 1),
        "operator": first,
        "operator_mb": round(peak.holders[first][0]) if first else None,
    }
    yield Finding(CODE, Status.OK, "PRF324.peak", args)
