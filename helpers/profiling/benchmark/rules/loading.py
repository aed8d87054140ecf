"""Data loading: how much of a step waits for it, and which workers, pinning and prefetching wait least.

Settings of the loader are compared where all else is the same, in time a step: the share of a step also grows where
the computing gets shorter. On the simulated NPU a CPU computes the step, which hides more loading than an NPU would.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.configurations import LOADER
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF375"
BASIS = "reasoned"
#: Waiting for data, in percent of the steps, that is worth a change
MUCH = 10.0


def check(bench: Bench) -> Iterator[Finding]:
    if bench.facts.get("kind") == "loading":
        return  # nothing but loading was measured
    ran = [one for one in bench.ran if one.loading_s]
    if not ran:
        yield Finding(CODE, Status.NOTE, "PRF375.unseen")
        return
    if bench.simulated:
        longest = max(ran, key=_waiting)
        raise CannotCheck("PRF375.simulated", name=longest.name, ms=_waiting(longest))
    groups = [[one for one in group if one.loading_s] for group in bench.groups(_varied(bench))]
    for group in groups:
        if len(group) > 1:
            yield _compared(group)
    alone = [group[0] for group in groups if len(group) == 1]
    if alone:
        yield _judged(max(alone, key=_percent), "")


def _varied(bench: Bench) -> list[str]:
    return [name for name in bench.axes if name.replace("-", "_") in (*LOADER, "num_workers")]


def _compared(group: list[Measured]) -> Finding:
    """Of configurations that differ in their loader alone."""
    best, worst = min(group, key=_waiting), max(group, key=_waiting)
    return _judged(best, "_varied", worst=worst.name, worst_ms=_waiting(worst))


def _judged(one: Measured, kind: str, **more: Scalar) -> Finding:
    waits = _percent(one) > MUCH
    args: dict[str, Scalar] = {"name": one.name, "percent": round(_percent(one), 1), "ms": _waiting(one), **more}
    return Finding(CODE, Status.NOTE if waits else Status.OK, f"PRF375.{'waits' if waits else 'hidden'}{kind}", args)


def _percent(one: Measured) -> float:
    return one.loading_percent or 0.0


def _waiting(one: Measured) -> float:
    return one.waiting_ms or 0.0
