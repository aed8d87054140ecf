"""Against the baseline: the same configurations of an earlier benchmark, with the names of both machines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.benchmark import relative
from ascend_workbook.profiling.benchmark.facts import SIMULATED, Bench

CODE = "PRF376"
BASIS = "facts"


def check(bench: Bench) -> Iterator[Finding]:
    if bench.baseline is None:
        return
    earlier = relative.baseline_facts(bench.baseline)
    if bench.simulated or earlier["hardware"]["tier"] == SIMULATED:
        raise CannotCheck("PRF376.simulated")
    kinds = relative.find_other_kinds(bench)
    if kinds:
        earlier_kind, own_kind = (Sentence(f"benchmark.kind.{kind}") for kind in kinds)
        raise CannotCheck("PRF376.kinds", its=earlier_kind, mine=own_kind)
    names: dict[str, Scalar] = {"device": bench.hardware["device"], "baseline": earlier["hardware"]["device"]}
    ratios = {configuration.name: relative.compute_ratio(bench, configuration) for configuration in bench.successful}
    common = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    if not common:
        raise CannotCheck("PRF376.nothing", unit=bench.unit, its_unit=earlier["unit"])
    for configuration in bench.successful:
        if configuration.name in common:
            key = "PRF376.apart" if relative.differ_clearly(bench, configuration) else "PRF376.alike"
            args: dict[str, Scalar] = {
                **names,
                "name": configuration.name,
                "ratio": round(common[configuration.name], 3),
            }
            yield Finding(CODE, Status.OK, key, args)
    yield from _compare_settings(bench, earlier)


def _compare_settings(bench: Bench, earlier: dict[str, object]) -> Iterator[Finding]:
    """Report where script, arguments or number of processes differ: then the two are not one experiment."""
    pairs = {name: (earlier.get(name), bench.facts.get(name)) for name in ("args", "nproc", "steps", "warmup")}
    pairs["script"] = (_file_name(earlier.get("script")), _file_name(bench.facts.get("script")))
    differ = {
        name: f"{name}: {earlier_value} / {own_value}"
        for name, (earlier_value, own_value) in pairs.items()
        if earlier_value != own_value
    }
    lengths: list[Scalar] = [differ.pop(name) for name in ("steps", "warmup") if name in differ]
    if differ:
        yield Finding(CODE, Status.WARN, "PRF376.other", {"differ": list(differ.values())})
    if lengths:
        yield Finding(CODE, Status.NOTE, "PRF376.lengths", {"differ": lengths})


def _file_name(path: object) -> str:
    """Return the script's name: where it lies differs from machine to machine."""
    return re.split(r"[\\/]", str(path or ""))[-1]
