"""Data loading: how much of a step waits for it, and which workers, pinning and prefetching wait least.

What the host waits for its own loader is measured on any device. Pinned memory only pays on the way to a real one.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.configurations import LOADER
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.words import Scalar

CODE = "PRF375"
#: Waiting for data, in percent of the steps, that is worth a change
MUCH = 10.0


def check(bench: Bench) -> Iterator[Finding]:
    ran = [one for one in bench.ran if one.loading_percent is not None]
    if not ran:
        yield Finding(CODE, Status.NOTE, "PRF375.unseen")
        return
    if "pin_memory" in bench.axes and bench.simulated:
        yield Finding(CODE, Status.SKIPPED, "PRF375.simulated")
    varied = [name for name in bench.axes if name in LOADER or name == "num_workers"]
    best = min(ran, key=_waiting)
    args: dict[str, Scalar] = {"name": best.name, "percent": round(_waiting(best), 1)}
    if varied:
        worst = max(ran, key=_waiting)
        args |= {"worst": worst.name, "worst_percent": round(_waiting(worst), 1)}
    waits = _waiting(best) > MUCH
    key = f"PRF375.{'waits' if waits else 'hidden'}{'_varied' if varied else ''}"
    yield Finding(CODE, Status.NOTE if waits else Status.OK, key, args)


def _waiting(one: Measured) -> float:
    return one.loading_percent or 0.0
