"""What holds the kernels up, arithmetic or memory? Needs the metrics that CANN records from Level1 on."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.device.units import bounds
from helpers.profiling.facts import Profile
from helpers.profiling.readers.kernel_table import KernelTable
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF323"
BASIS = "facts"


def check(profile: Profile) -> Iterator[Finding]:
    if profile.tier != "npu":
        raise CannotCheck("PRF323.no_npu")
    table = profile.kernels
    if table is None:
        raise CannotCheck("PRF323.no_table")
    args: dict[str, Scalar] = {"path": str(table.path), "kernels": len(table)}
    if table.bad_rows:
        yield Finding(CODE, Status.WARN, "PRF323.rows", {**args, "rows": table.bad_rows, "line": table.bad_line})
    if table.bad_cells:
        yield Finding(CODE, Status.WARN, "PRF323.cells", {**args, "cells": table.bad_cells, "cell": table.bad_cell})
    yield _bound(table)


def _bound(table: KernelTable) -> Finding:
    found = bounds(table)
    total = table.ns()
    if found is None or not total:
        return Finding(CODE, Status.SKIPPED, "PRF323.no_metrics")
    computing, memory = (round(100 * table.ns(mask) / total, 1) for mask in found)
    args: dict[str, Scalar] = {"computing": computing, "memory": memory}
    args["neither"] = round(100 - computing - memory, 1)
    return Finding(CODE, Status.OK, "PRF323.bounds", args)
