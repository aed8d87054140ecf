"""Configurations that did not fit or did not run: out of memory is a result, anything else a failure."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import FAILED, OUT_OF_MEMORY, Bench
from helpers.words import Scalar

CODE = "PRF372"


def check(bench: Bench) -> Iterator[Finding]:
    for one in bench.measured:
        args: dict[str, Scalar] = {"name": one.name, "why": one.why}
        if one.outcome == OUT_OF_MEMORY:
            yield Finding(CODE, Status.NOTE, "PRF372.out", args)
        elif one.outcome == FAILED:
            yield Finding(CODE, Status.FAIL, "PRF372.failed", args)
