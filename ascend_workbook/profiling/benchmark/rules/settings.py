"""What a setting brings: batch size, mixed precision, the loader's."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.benchmark.configurations import LOADER
from ascend_workbook.profiling.benchmark.facts import Bench, Measured

BASIS = "reasoned"
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
    return Finding("PRF373", Status.OK, "PRF373.grows" if at == len(gains) else "PRF373.knee", args)


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
        yield Finding("PRF374", Status.SKIPPED, "PRF374.no_switch", {"name": name, "values": values})
        return
    if any(_read_switch(group[0], other) is not False for other in others):
        return  # float32 is where all of them are off
    full, mixed = by_switch[False], by_switch[True]
    args: dict[str, Scalar] = {"name": mixed.name, "ratio": round(mixed.rate_per_s / full.rate_per_s, 2)}
    key = "PRF374.alike" if not mixed.apart_from(full) else "PRF374.faster"
    slower = mixed.rate_per_s < full.rate_per_s and mixed.apart_from(full)
    yield Finding("PRF374", Status.NOTE if slower else Status.OK, "PRF374.slower" if slower else key, args)


def _read_switch(configuration: Measured, name: str) -> bool | None:
    """Return whether a setting is on, None where its value is no switch."""
    return SWITCH.get(str(configuration.settings[name]).lower())


def check_loading(bench: Bench) -> Iterator[Finding]:
    """Data loading: how much of a step waits for it, and which workers, pinning and prefetching wait least.

    Settings of the loader are compared where all else is the same, in time a step: the share of a step also grows where
    the computing gets shorter. On the simulated NPU a CPU computes the step, which hides more loading than an NPU
    would.
    """
    if bench.facts.get("kind") == "loading":
        return  # nothing but loading was measured
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
    status, word = (Status.NOTE, "waits") if percent > MUCH else (Status.OK, "hidden")
    args: dict[str, Scalar] = {"name": configuration.name, "percent": round(percent, 1)}
    return Finding("PRF375", status, f"PRF375.{word}{kind}", {**args, "ms": _waiting_ms(configuration), **more})


def _loading_percent(configuration: Measured) -> float:
    return configuration.loading_percent or 0.0


def _waiting_ms(configuration: Measured) -> float:
    return configuration.waiting_ms or 0.0


RULES = {"PRF373": check_batch, "PRF374": check_precision, "PRF375": check_loading}
