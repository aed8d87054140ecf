"""Configurations that did not fit or did not run: out of memory is a result, anything else a failure.

Of those that ran in one process the host's peak is only known where it rose.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import FAILED, OUT_OF_MEMORY, Bench
from helpers.words import Scalar

CODE = "PRF372"
BASIS = "facts"


def check(bench: Bench) -> Iterator[Finding]:
    for one in bench.measured:
        args: dict[str, Scalar] = {"name": one.name, "why": one.why}
        if one.outcome == OUT_OF_MEMORY:
            yield Finding(CODE, Status.NOTE, "PRF372.out", args)
        elif one.outcome == FAILED:
            yield Finding(CODE, Status.FAIL, "PRF372.failed", args)
    bounds = {one.name: one.host_at_most_mib for one in bench.ran if one.host_at_most_mib is not None}
    if bounds:
        hidden: dict[str, Scalar] = {"names": list(bounds), "most": round(max(bounds.values()))}
        yield Finding(CODE, Status.NOTE, "PRF372.host_unknown", hidden)
