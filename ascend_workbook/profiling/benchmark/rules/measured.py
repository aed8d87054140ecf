"""What was measured: the fastest, how steady, how often, with which memory and power, and against the baseline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.benchmark.facts import (
    FAILED,
    FAR,
    LOOSE,
    OUT_OF_MEMORY,
    SIMULATED,
    UNSTEADY,
    Bench,
    Measured,
    baseline_facts,
    compute_ratio,
    differ_clearly,
    find_far_steps,
    find_other_kinds,
)

#: The verdict of a benchmark.
SPEED = "PRF370"
BASIS = {"PRF370": "facts", "PRF372": "facts", "PRF376": "facts", "PRF377": "facts", "PRF378": "facts"}
#: Steps of a run: fewer have no thirds
LEAST = 6
ENOUGH = 3


def check_speed(bench: Bench) -> Iterator[Finding]:
    """The verdict: what was measured, and which configuration is the fastest beyond its uncertainty."""
    if not bench.successful:
        yield Finding("PRF370", Status.FAIL, "PRF370.none", {"why": bench.measured[0].why}, weight=100)
        return
    best = max(bench.successful, key=lambda configuration: configuration.rate_per_s)
    args = _describe_best(bench, best)
    if bench.simulated:
        key = "PRF370.simulated" if len(bench.successful) > 1 else "PRF370.simulated_one"
        yield Finding("PRF370", Status.SKIPPED, key, args, weight=100)
        return
    like: list[Scalar] = [
        configuration.name
        for configuration in bench.successful
        if configuration is not best and not best.apart_from(configuration)
    ]
    key = "PRF370.one" if len(bench.successful) == 1 else "PRF370.like" if like else "PRF370.best"
    yield Finding("PRF370", Status.OK, key, {**args, "like": like}, weight=100)


def _describe_best(bench: Bench, best: Measured) -> dict[str, Scalar]:
    """Return the arguments of the verdict: the fastest configuration and its figures."""
    figures: dict[str, Scalar] = {"rate": best.rate_per_s, "unit": Sentence(f"benchmark.unit.{bench.unit}")}
    figures |= {"p50_ms": best.percentile_ms(50), "p99_ms": best.percentile_ms(99)}
    return {"name": best.name, "ran": len(bench.successful), "device": str(bench.hardware["device"]), **figures}


def check_steady(bench: Bench) -> Iterator[Finding]:
    """Is each time steady enough to be compared? Thresholds as in torch.utils.benchmark: quartiles 10 % and 25 % of the
    median apart; the same for what the last third of a run takes longer than its first. Single steps far beyond the
    median are told apart: they count in the throughput.

    Source: https://docs.pytorch.org/docs/stable/benchmark_utils.html
    """
    short: list[Scalar] = [
        configuration.name for configuration in bench.successful if min(map(len, configuration.runs_s)) < LEAST
    ]
    judged = [configuration for configuration in bench.successful if configuration.name not in short]
    if short:
        yield Finding("PRF371", Status.NOTE, "PRF371.few", {"names": short, "least": LEAST})
    steady = bool(judged)
    for configuration in judged:
        spread, drift = configuration.spread_percent, configuration.drift_percent
        worst = max(spread, abs(drift))
        if worst > LOOSE:
            steady = False
            args: dict[str, Scalar] = {"name": configuration.name, "spread": round(spread, 1), "drift": round(drift, 1)}
            yield Finding("PRF371", Status.WARN if worst > UNSTEADY else Status.NOTE, "PRF371.shaky", args)
    if steady:
        yield Finding("PRF371", Status.OK, "PRF371.steady", {"ran": len(judged), "limit": LOOSE})
    for configuration in bench.successful:
        if long := find_far_steps(configuration.times_s):
            steps = len(configuration.times_s)
            args = {"name": configuration.name, "long": len(long), "steps": steps, "times": FAR}
            args["percent"] = round(100 * sum(long) / sum(configuration.times_s), 1)
            yield Finding("PRF371", Status.NOTE, "PRF371.beyond", args)


def check_memory(bench: Bench) -> Iterator[Finding]:
    """Configurations that did not fit or did not run: out of memory is a result, anything else a failure.

    Of those that ran in one process the host's peak is only known where it rose.
    """
    for configuration in bench.measured:
        args: dict[str, Scalar] = {"name": configuration.name, "why": configuration.why}
        if configuration.outcome == OUT_OF_MEMORY:
            yield Finding("PRF372", Status.NOTE, "PRF372.out", args)
        elif configuration.outcome == FAILED:
            yield Finding("PRF372", Status.FAIL, "PRF372.failed", args)
    bounds = {
        configuration.name: configuration.host_at_most_mib
        for configuration in bench.successful
        if configuration.host_at_most_mib is not None
    }
    if bounds:
        hidden: dict[str, Scalar] = {"names": list(bounds), "most": round(max(bounds.values()))}
        yield Finding("PRF372", Status.NOTE, "PRF372.host_unknown", hidden)


def check_power(bench: Bench) -> Iterator[Finding]:
    """Power: how much a joule buys, where the machine tells its power."""
    metered = [configuration for configuration in bench.successful if configuration.power_w]
    if not metered:
        yield Finding(
            "PRF377", Status.NOTE, "PRF377.unknown", {"why": bench.no_power or Sentence("benchmark.power.short")}
        )
        return
    best = max(metered, key=lambda configuration: configuration.rate_per_s / (configuration.power_w or 1.0))
    args: dict[str, Scalar] = {"name": best.name, "watts": round(best.power_w or 0.0, 1)}
    args |= {"unit": Sentence(f"benchmark.unit.{bench.unit}"), "per_joule": best.rate_per_s / (best.power_w or 1.0)}
    yield Finding("PRF377", Status.OK, "PRF377.best", args)


def check_repeats(bench: Bench) -> Iterator[Finding]:
    """Was what differs from run to run measured? The steps of one run share its process, its memory and its moment."""
    status, key = (Status.NOTE, "PRF378.few") if bench.repeats < ENOUGH else (Status.OK, "PRF378.enough")
    yield Finding("PRF378", status, key, {"repeats": bench.repeats})


#: The benchmark against its baseline
AGAINST = "PRF376"


def check_baseline(bench: Bench) -> Iterator[Finding]:
    """Against the baseline: the same configurations of an earlier benchmark, with the names of both machines."""
    if bench.baseline is None:
        return
    earlier = baseline_facts(bench.baseline)
    if bench.simulated or earlier["hardware"]["tier"] == SIMULATED:
        raise CannotCheck("PRF376.simulated")
    kinds = find_other_kinds(bench)
    if kinds:
        earlier_kind, own_kind = (Sentence(f"benchmark.kind.{kind}") for kind in kinds)
        raise CannotCheck("PRF376.kinds", its=earlier_kind, mine=own_kind)
    names: dict[str, Scalar] = {"device": str(bench.hardware["device"]), "baseline": earlier["hardware"]["device"]}
    ratios = {configuration.name: compute_ratio(bench, configuration) for configuration in bench.successful}
    if all(ratio is None for ratio in ratios.values()):
        raise CannotCheck("PRF376.nothing", unit=bench.unit, its_unit=earlier["unit"])
    for configuration in bench.successful:
        ratio = ratios[configuration.name]
        if ratio is not None:
            key = "PRF376.apart" if differ_clearly(bench, configuration) else "PRF376.alike"
            yield Finding(AGAINST, Status.OK, key, {**names, "name": configuration.name, "ratio": round(ratio, 3)})
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
        yield Finding(AGAINST, Status.WARN, "PRF376.other", {"differ": list(differ.values())})
    if lengths:
        yield Finding(AGAINST, Status.NOTE, "PRF376.lengths", {"differ": lengths})


def _file_name(path: object) -> str:
    """Return the script's name: where it lies differs from machine to machine."""
    return re.split(r"[\\/]", str(path or ""))[-1]


RULES = {
    "PRF370": check_speed,
    "PRF371": check_steady,
    "PRF372": check_memory,
    "PRF376": check_baseline,
    "PRF377": check_power,
    "PRF378": check_repeats,
}
