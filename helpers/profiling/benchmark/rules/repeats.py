"""Was what differs from run to run measured? The steps of one run share its process, its memory and its moment."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import Bench

CODE = "PRF378"
BASIS = "facts"
ENOUGH = 3


def check(bench: Bench) -> Iterator[Finding]:
    if bench.repeats < ENOUGH:
        yield Finding(CODE, Status.NOTE, "PRF378.few", {"repeats": bench.repeats})
    else:
        yield Finding(CODE, Status.OK, "PRF378.enough", {"repeats": bench.repeats})
