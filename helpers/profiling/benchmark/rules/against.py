"""Against the baseline: the same configurations of an earlier benchmark, with the names of both machines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark import relative
from helpers.profiling.benchmark.facts import SIMULATED, Bench
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF376"
BASIS = "facts"


def check(bench: Bench) -> Iterator[Finding]:
    if bench.baseline is None:
        return
    theirs = relative.told(bench.baseline)
    if bench.simulated or theirs["hardware"]["tier"] == SIMULATED:
        raise CannotCheck("PRF376.simulated")
    kinds = relative.kinds(bench)
    if kinds:
        its, mine = ({"say": f"benchmark.kind.{kind}"} for kind in kinds)
        raise CannotCheck("PRF376.kinds", its=its, mine=mine)
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
    pairs = {name: (theirs.get(name), bench.facts.get(name)) for name in ("args", "nproc", "steps", "warmup")}
    pairs["script"] = (_file(theirs.get("script")), _file(bench.facts.get("script")))
    differ = {name: f"{name}: {its} / {mine}" for name, (its, mine) in pairs.items() if its != mine}
    lengths: list[Scalar] = [differ.pop(name) for name in ("steps", "warmup") if name in differ]
    if differ:
        yield Finding(CODE, Status.WARN, "PRF376.other", {"differ": list(differ.values())})
    if lengths:
        yield Finding(CODE, Status.NOTE, "PRF376.lengths", {"differ": lengths})


def _file(path: object) -> str:
    """The script's name: where it lies differs from machine to machine."""
    return re.split(r"[\\/]", str(path or ""))[-1]
