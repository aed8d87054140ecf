"""Power: how much a joule buys, where the machine tells its power."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import Bench
from helpers.words import Scalar

CODE = "PRF377"
BASIS = "facts"


def check(bench: Bench) -> Iterator[Finding]:
    told = [one for one in bench.ran if one.power_w]
    if not told:
        yield Finding(CODE, Status.NOTE, "PRF377.unknown", {"why": bench.no_power or {"say": "benchmark.power.short"}})
        return
    best = max(told, key=lambda one: one.rate_per_s / (one.power_w or 1.0))
    args: dict[str, Scalar] = {"name": best.name, "watts": round(best.power_w or 0.0, 1)}
    args |= {"unit": {"say": f"benchmark.unit.{bench.unit}"}, "per_joule": best.rate_per_s / (best.power_w or 1.0)}
    yield Finding(CODE, Status.OK, "PRF377.best", args)
