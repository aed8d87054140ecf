"""What was measured: the fastest, how steady, how often, with which memory and power."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.benchmark.facts import FAILED, OUT_OF_MEMORY, Bench, Measured
from ascend_workbook.profiling.benchmark.statistics import FAR, LOOSE, UNSTEADY, find_far_steps

#: The verdict of a benchmark.
SPEED = "PRF370"
BASIS = {"PRF370": "facts", "PRF372": "facts", "PRF377": "facts", "PRF378": "facts"}
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
    shaky = [
        configuration
        for configuration in judged
        if max(configuration.spread_percent, abs(configuration.drift_percent)) > LOOSE
    ]
    for configuration in shaky:
        worst = max(configuration.spread_percent, abs(configuration.drift_percent))
        args: dict[str, Scalar] = {"name": configuration.name, "spread": round(configuration.spread_percent, 1)}
        args["drift"] = round(configuration.drift_percent, 1)
        yield Finding("PRF371", Status.WARN if worst > UNSTEADY else Status.NOTE, "PRF371.shaky", args)
    if judged and not shaky:
        yield Finding("PRF371", Status.OK, "PRF371.steady", {"ran": len(judged), "limit": LOOSE})
    for configuration in bench.successful:
        yield from _report_far_steps(configuration)


def _report_far_steps(configuration: Measured) -> Iterator[Finding]:
    """Report the single steps of a configuration that take far more than the median."""
    long = find_far_steps(configuration.times_s)
    if long:
        args: dict[str, Scalar] = {
            "name": configuration.name,
            "long": len(long),
            "steps": len(configuration.times_s),
            "times": FAR,
        }
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
    if bench.repeats < ENOUGH:
        yield Finding("PRF378", Status.NOTE, "PRF378.few", {"repeats": bench.repeats})
    else:
        yield Finding("PRF378", Status.OK, "PRF378.enough", {"repeats": bench.repeats})


RULES = {
    "PRF370": check_speed,
    "PRF371": check_steady,
    "PRF372": check_memory,
    "PRF377": check_power,
    "PRF378": check_repeats,
}
