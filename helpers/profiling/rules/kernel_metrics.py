"""What holds the kernels up, arithmetic or memory? Needs the metrics that CANN records from Level1 on."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.device.units import bounds
from helpers.profiling.facts import Profile
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF323"


def check(profile: Profile) -> Iterator[Finding]:
    if profile.tier != "npu":
        raise CannotCheck("PRF323.no_npu")
    table = profile.kernels
    if table is None:
        raise CannotCheck("PRF323.no_table")
    found = bounds(table)
    total = table.ns()
    if found is None or not total:
        raise CannotCheck("PRF323.no_metrics")
    computing, memory = (round(100 * table.ns(mask) / total, 1) for mask in found)
    args: dict[str, Scalar] = {"computing": computing, "memory": memory}
    args["neither"] = round(100 - computing - memory, 1)
    yield Finding(CODE, Status.OK, "PRF323.bounds", args)
