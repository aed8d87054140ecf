"""What was measured: the fastest, how steady, how often, with which memory and power, and against the baseline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.benchmark import facts
from ascend_workbook.profiling.benchmark.configurations import LOADER
from ascend_workbook.profiling.benchmark.facts import Bench, Measured

#: The verdict of a benchmark.
SPEED = "PRF370"
BASIS = {
    **dict.fromkeys(("PRF370", "PRF372", "PRF376", "PRF377", "PRF378"), "facts"),
    **dict.fromkeys(("PRF373", "PRF374", "PRF375"), "reasoned"),
}
#: Steps of a run: fewer have no thirds
LEAST = 6
ENOUGH = 3


def check_speed(bench: Bench) -> Iterator[Finding]:
    """The verdict: what was measured, and which configuration is the fastest beyond its uncertainty."""
    if bench.trial and all(row.outcome == facts.NOT_RUN for row in bench.measured):
        raise CannotCheck("PRF370.nothing")
    if not bench.successful:
        yield Finding("PRF370", Status.FIX, "PRF370.none", {"why": bench.measured[0].why}, weight=100)
        return
    best = max(bench.successful, key=lambda configuration: configuration.rate_per_s)
    figures: dict[str, Scalar] = {"rate": best.rate_per_s, "unit": Sentence(f"benchmark.unit.{bench.unit}")}
    figures |= {"p50_ms": best.percentile_ms(50), "p99_ms": best.percentile_ms(99)}
    args = {"name": best.name, "ran": len(bench.successful), "device": str(bench.hardware["device"]), **figures}
    if bench.simulated:
        key = "PRF370.simulated" if len(bench.successful) > 1 else "PRF370.simulated_one"
        yield Finding("PRF370", Status.NOT_LOOKED, key, args, weight=100)
        return
    like: list[Scalar] = [
        configuration.name
        for configuration in bench.successful
        if configuration is not best and not best.apart_from(configuration)
    ]
    key = "PRF370.one" if len(bench.successful) == 1 else "PRF370.like" if like else "PRF370.best"
    yield Finding("PRF370", Status.GOOD, key, {**args, "like": like}, weight=100)


def check_steady(bench: Bench) -> Iterator[Finding]:
    """Is each time steady enough to be compared? Thresholds as in torch.utils.benchmark: quartiles 10 % and 25 % of the
    median apart; the same for what the last third of a run takes longer than its first. Single steps far beyond the
    median are told apart: they count in the throughput. Source:
    https://docs.pytorch.org/docs/stable/benchmark_utils.html"""
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
        if worst > facts.LOOSE:
            steady = False
            args: dict[str, Scalar] = {"name": configuration.name, "spread": round(spread, 1), "drift": round(drift, 1)}
            yield Finding("PRF371", Status.LOOK if worst > facts.UNSTEADY else Status.NOTE, "PRF371.shaky", args)
    if steady:
        yield Finding("PRF371", Status.GOOD, "PRF371.steady", {"ran": len(judged), "limit": facts.LOOSE})
    for configuration in bench.successful:
        if long := facts.find_far_steps(configuration.times_s):
            steps = len(configuration.times_s)
            args = {"name": configuration.name, "long": len(long), "steps": steps, "times": facts.FAR}
            args["percent"] = round(100 * sum(long) / sum(configuration.times_s), 1)
            yield Finding("PRF371", Status.NOTE, "PRF371.beyond", args)


def check_memory(bench: Bench) -> Iterator[Finding]:
    """Configurations that did not fit or did not run: out of memory is a result, anything else a failure. Of those that
    ran in one process the host's peak is only known where it rose."""
    for configuration in bench.measured:
        args: dict[str, Scalar] = {"name": configuration.name, "why": configuration.why}
        if configuration.outcome == facts.OUT_OF_MEMORY:
            yield Finding("PRF372", Status.NOTE, "PRF372.out", args)
        elif configuration.outcome == facts.FAILED:
            yield Finding("PRF372", Status.FIX, "PRF372.failed", args)
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
    if not bench.successful:
        return
    if not metered:
        yield Finding(
            "PRF377", Status.NOTE, "PRF377.unknown", {"why": bench.no_power or Sentence("benchmark.power.short")}
        )
        return
    best = max(metered, key=lambda configuration: configuration.rate_per_s / (configuration.power_w or 1.0))
    args: dict[str, Scalar] = {"name": best.name, "watts": round(best.power_w or 0.0, 1)}
    args |= {"unit": Sentence(f"benchmark.unit.{bench.unit}"), "per_joule": best.rate_per_s / (best.power_w or 1.0)}
    yield Finding("PRF377", Status.GOOD, "PRF377.best", args)


def check_repeats(bench: Bench) -> Iterator[Finding]:
    """Was what differs from run to run measured? The steps of one run share its process, its memory and its moment."""
    if not bench.successful:
        return
    status, key = (Status.NOTE, "PRF378.few") if bench.repeats < ENOUGH else (Status.GOOD, "PRF378.enough")
    yield Finding("PRF378", status, key, {"repeats": bench.repeats})


#: The benchmark against its baseline
AGAINST = "PRF376"


def check_baseline(bench: Bench) -> Iterator[Finding]:
    """Against the baseline: the same configurations of an earlier benchmark, with the names of both machines."""
    if bench.baseline is None:
        return
    earlier = facts.baseline_facts(bench.baseline)
    if bench.simulated or earlier["hardware"]["tier"] == facts.SIMULATED:
        raise CannotCheck("PRF376.simulated")
    kinds = facts.find_other_kinds(bench)
    if kinds:
        earlier_kind, own_kind = (Sentence(f"benchmark.kind.{kind}") for kind in kinds)
        raise CannotCheck("PRF376.kinds", its=earlier_kind, mine=own_kind)
    names: dict[str, Scalar] = {"device": str(bench.hardware["device"]), "baseline": earlier["hardware"]["device"]}
    ratios = {configuration.name: facts.compute_ratio(bench, configuration) for configuration in bench.successful}
    if all(ratio is None for ratio in ratios.values()):
        raise CannotCheck("PRF376.nothing", unit=bench.unit, its_unit=earlier["unit"])
    for configuration in bench.successful:
        ratio = ratios[configuration.name]
        if ratio is not None:
            key = "PRF376.apart" if facts.differ_clearly(bench, configuration) else "PRF376.alike"
            yield Finding(AGAINST, Status.GOOD, key, {**names, "name": configuration.name, "ratio": round(ratio, 3)})
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
        yield Finding(AGAINST, Status.LOOK, "PRF376.other", {"differ": list(differ.values())})
    if lengths:
        yield Finding(AGAINST, Status.NOTE, "PRF376.lengths", {"differ": lengths})


def _file_name(path: object) -> str:
    """Return the script's name: where it lies differs from machine to machine."""
    return re.split(r"[\\/]", str(path or ""))[-1]


#: A step to the next size that brings less than this, in percent, is not worth its memory
LITTLE = 5.0
#: Other names, such as batch-norm, num-batches or test-batch-size, are none of training's batch size
BATCH_NAMES = {
    *("b", "bs", "bsz", "mbs", "batch", "batchsize", "batch_size", "train_batch", "train_batch_size"),
    *("micro_batch_size", "global_batch_size", "total_batch_size", "batch_size_per_gpu", "batch_size_per_device"),
    *("per_gpu_batch_size", "per_device_batch_size", "per_gpu_train_batch_size", "per_device_train_batch_size"),
}
SWITCH = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}
PRECISION_NAMES = ("autocast", "amp", "bf16", "fp16", "mixed-precision", "mixed_precision", "use-amp", "use_amp")
#: Waiting for data, in percent of the steps, that is worth a change
MUCH = 10.0


def check_batch(bench: Bench) -> Iterator[Finding]:
    """Batch size: what the largest brings over the smallest, and from where on a larger one brings little."""
    axis = next((name for name in bench.axes if name.lstrip("-").replace("-", "_").lower() in BATCH_NAMES), "")
    groups = [
        group
        for group in bench.groups_of_axis(axis)
        if all(_batch_size(configuration, axis) for configuration in group)
    ]
    if groups and bench.simulated:
        raise CannotCheck("PRF373.simulated")
    if groups and bench.unit == "steps":
        raise CannotCheck("PRF373.no_samples")
    for group in groups:
        yield _judge_batch(sorted(group, key=lambda configuration: _batch_size(configuration, axis)))


def _batch_size(configuration: Measured, axis: str) -> int:
    """Return the configuration's batch size, 0 where the value is no number: a switch, a word."""
    text = str(configuration.settings[axis])
    return int(text) if text.isdecimal() else 0


def _judge_batch(group: list[Measured]) -> Finding:
    """Judge configurations in the order of their batch sizes: from where on a larger one brings little."""
    gains = [100 * (large.rate_per_s / small.rate_per_s - 1) for small, large in zip(group, group[1:])]
    at = next((at for at, gain in enumerate(gains) if gain < LITTLE), len(gains))
    args: dict[str, Scalar] = {"name": group[at].name, "smallest": group[0].name, "limit": LITTLE}
    args["gain"] = round(100 * (group[at].rate_per_s / group[0].rate_per_s - 1), 1)
    return Finding("PRF373", Status.GOOD, "PRF373.grows" if at == len(gains) else "PRF373.knee", args)


def check_precision(bench: Bench) -> Iterator[Finding]:
    """Mixed precision against float32: autocast set by the benchmark, or a switch of the script's own that names it."""
    varied = [name for name in bench.axes if name in PRECISION_NAMES]
    groups = [(name, group) for name in varied for group in bench.groups_of_axis(name)]
    if groups and bench.simulated:
        raise CannotCheck("PRF374.simulated")
    for name, group in groups:
        yield from _judge_precision(name, group, [other for other in varied if other != name])


def _judge_precision(name: str, group: list[Measured], others: list[str]) -> Iterator[Finding]:
    """Judge a pair of configurations without and with mixed precision."""
    by_switch = {_read_switch(configuration, name): configuration for configuration in group}
    if set(by_switch) != {True, False} or len(group) != 2:
        values: list[Scalar] = [configuration.settings[name] for configuration in group]
        yield Finding("PRF374", Status.NOT_LOOKED, "PRF374.no_switch", {"name": name, "values": values})
        return
    if any(_read_switch(group[0], other) is not False for other in others):
        return  # float32 is where all of them are off
    full, mixed = by_switch[False], by_switch[True]
    args: dict[str, Scalar] = {"name": mixed.name, "ratio": round(mixed.rate_per_s / full.rate_per_s, 2)}
    key = "PRF374.alike" if not mixed.apart_from(full) else "PRF374.faster"
    slower = mixed.rate_per_s < full.rate_per_s and mixed.apart_from(full)
    yield Finding("PRF374", Status.NOTE if slower else Status.GOOD, "PRF374.slower" if slower else key, args)


def _read_switch(configuration: Measured, name: str) -> bool | None:
    """Return whether a setting is on, None where its value is no switch."""
    return SWITCH.get(str(configuration.settings[name]).lower())


def check_loading(bench: Bench) -> Iterator[Finding]:
    """Data loading: how much of a step waits for it, and which workers, pinning and prefetching wait least. Settings of
    the loader are compared where all else is the same, in time a step: the share of a step also grows where the
    computing gets shorter. On the simulated NPU a CPU computes the step, which hides more loading than an NPU would."""
    if bench.facts.get("kind") == "loading" or not bench.successful:
        return  # nothing but loading was measured, or nothing
    ran = [configuration for configuration in bench.successful if configuration.loading_s]
    if not ran:
        yield Finding("PRF375", Status.NOTE, "PRF375.unseen")
        return
    if bench.simulated:
        longest = max(ran, key=_waiting_ms)
        raise CannotCheck("PRF375.simulated", name=longest.name, ms=_waiting_ms(longest))
    of_loader = [name for name in bench.axes if name.replace("-", "_") in (*LOADER, "num_workers")]
    groups = [
        [configuration for configuration in group if configuration.loading_s] for group in bench.group_alike(of_loader)
    ]
    for group in groups:
        if len(group) > 1:
            best, worst = min(group, key=_waiting_ms), max(group, key=_waiting_ms)
            yield _judge_loading(best, "_varied", worst=worst.name, worst_ms=_waiting_ms(worst))
    alone = [group[0] for group in groups if len(group) == 1]
    if alone:
        yield _judge_loading(max(alone, key=_loading_percent), "")


def _judge_loading(configuration: Measured, kind: str, **more: Scalar) -> Finding:
    """Judge how much of a configuration's steps waits for data."""
    percent = _loading_percent(configuration)
    status, word = (Status.NOTE, "waits") if percent > MUCH else (Status.GOOD, "hidden")
    args: dict[str, Scalar] = {"name": configuration.name, "percent": round(percent, 1)}
    return Finding("PRF375", status, f"PRF375.{word}{kind}", {**args, "ms": _waiting_ms(configuration), **more})


def _loading_percent(configuration: Measured) -> float:
    return configuration.loading_percent or 0.0


def _waiting_ms(configuration: Measured) -> float:
    return configuration.waiting_ms or 0.0


RULES = {
    "PRF370": check_speed,
    "PRF371": check_steady,
    "PRF372": check_memory,
    "PRF373": check_batch,
    "PRF374": check_precision,
    "PRF375": check_loading,
    "PRF376": check_baseline,
    "PRF377": check_power,
    "PRF378": check_repeats,
}
