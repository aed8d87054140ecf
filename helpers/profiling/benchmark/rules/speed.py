"""The verdict: what was measured, and which configuration is the fastest beyond its uncertainty."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.words import Scalar

CODE = "PRF370"
BASIS = "facts"


def check(bench: Bench) -> Iterator[Finding]:
    if not bench.ran:
        yield Finding(CODE, Status.FAIL, "PRF370.none", {"why": bench.measured[0].why}, weight=100)
        return
    best = max(bench.ran, key=lambda one: one.rate_per_s)
    args = _args(bench, best)
    if bench.simulated:
        key = "PRF370.simulated" if len(bench.ran) > 1 else "PRF370.simulated_one"
        yield Finding(CODE, Status.SKIPPED, key, args, weight=100)
        return
    like: list[Scalar] = [one.name for one in bench.ran if one is not best and not best.apart_from(one)]
    key = "PRF370.one" if len(bench.ran) == 1 else "PRF370.like" if like else "PRF370.best"
    yield Finding(CODE, Status.OK, key, {**args, "like": like}, weight=100)


def _args(bench: Bench, best: Measured) -> dict[str, Scalar]:
    figures: dict[str, Scalar] = {"rate": best.rate_per_s, "unit": {"say": f"benchmark.unit.{bench.unit}"}}
    figures |= {"p50_ms": best.percentile_ms(50), "p99_ms": best.percentile_ms(99)}
    return {"name": best.name, "ran": len(bench.ran), "device": str(bench.hardware["device"]), **figures}
