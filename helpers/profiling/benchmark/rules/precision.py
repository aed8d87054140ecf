"""Mixed precision against float32: autocast set by the benchmark, or a switch of the script's own that names it."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF374"
BASIS = "reasoned"
SWITCH = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}
NAMES = ("autocast", "amp", "bf16", "fp16", "mixed-precision", "mixed_precision", "use-amp", "use_amp")


def check(bench: Bench) -> Iterator[Finding]:
    varied = [name for name in bench.axes if name in NAMES]
    groups = [(name, group) for name in varied for group in bench.pairs(name)]
    if groups and bench.simulated:
        raise CannotCheck("PRF374.simulated")
    for name, group in groups:
        yield from _judged(name, group, [other for other in varied if other != name])


def _judged(name: str, group: list[Measured], others: list[str]) -> Iterator[Finding]:
    by_switch = {_on(one, name): one for one in group}
    if set(by_switch) != {True, False} or len(group) != 2:
        values: list[Scalar] = [one.settings[name] for one in group]
        yield Finding(CODE, Status.SKIPPED, "PRF374.no_switch", {"name": name, "values": values})
        return
    if any(_on(group[0], other) is not False for other in others):
        return  # float32 is where all of them are off
    full, mixed = by_switch[False], by_switch[True]
    args: dict[str, Scalar] = {"name": mixed.name, "ratio": round(mixed.rate_per_s / full.rate_per_s, 2)}
    key = "PRF374.alike" if not mixed.apart_from(full) else "PRF374.faster"
    slower = mixed.rate_per_s < full.rate_per_s and mixed.apart_from(full)
    yield Finding(CODE, Status.NOTE if slower else Status.OK, "PRF374.slower" if slower else key, args)


def _on(one: Measured, name: str) -> bool | None:
    return SWITCH.get(str(one.settings[name]).lower())
