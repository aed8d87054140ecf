"""Against the baseline: the same configurations of an earlier benchmark, with the names of both machines."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark import relative
from helpers.profiling.benchmark.facts import SIMULATED, Bench
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF376"


def check(bench: Bench) -> Iterator[Finding]:
    if bench.baseline is None:
        return
    theirs = relative.told(bench.baseline)
    if bench.simulated or theirs["hardware"]["tier"] == SIMULATED:
        raise CannotCheck("PRF376.simulated")
    names: dict[str, Scalar] = {"device": bench.hardware["device"], "baseline": theirs["hardware"]["device"]}
    ratios = {one.name: relative.ratio(bench, one) for one in bench.ran}
    common = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    if not common:
        raise CannotCheck("PRF376.nothing", unit=bench.unit, its_unit=theirs["unit"])
    for one in bench.ran:
        if one.name in common:
            key = "PRF376.apart" if relative.apart(bench, one) else "PRF376.alike"
            args: dict[str, Scalar] = {**names, "name": one.name, "ratio": round(common[one.name], 3)}
            yield Finding(CODE, Status.OK, key, args)
    yield from _otherwise(bench, theirs)


def _otherwise(bench: Bench, theirs: dict[str, object]) -> Iterator[Finding]:
    """The two are only one experiment where script, arguments and number of processes are the same."""
    differ: list[Scalar] = [
        f"{name}: {theirs.get(name)} / {bench.facts.get(name)}"
        for name in ("args", "nproc")
        if theirs.get(name) != bench.facts.get(name)
    ]
    if differ:
        yield Finding(CODE, Status.WARN, "PRF376.other", {"differ": differ})
