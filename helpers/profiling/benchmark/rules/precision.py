"""Mixed precision against float32: autocast set by the benchmark, or a switch of the script's own that names it."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import Bench
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF374"
NAMES = ("autocast", "amp", "bf16", "fp16", "mixed-precision", "mixed_precision", "use-amp", "use_amp")


def check(bench: Bench) -> Iterator[Finding]:
    groups = [group for name in bench.axes if name in NAMES for group in bench.pairs(name)]
    if groups and bench.simulated:
        raise CannotCheck("PRF374.simulated")
    for full, mixed in (group for group in groups if len(group) == 2):
        args: dict[str, Scalar] = {"name": mixed.name, "ratio": round(mixed.rate_per_s / full.rate_per_s, 2)}
        key = "PRF374.alike" if not mixed.apart_from(full) else "PRF374.faster"
        slower = mixed.rate_per_s < full.rate_per_s and mixed.apart_from(full)
        yield Finding(CODE, Status.NOTE if slower else Status.OK, "PRF374.slower" if slower else key, args)
