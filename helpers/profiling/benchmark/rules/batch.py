"""Batch size: what the largest brings over the smallest, and from where on a larger one brings little."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF373"
BASIS = "reasoned"
#: A step to the next size that brings less than this, in percent, is not worth its memory
LITTLE = 5.0
#: Other names, such as batch-norm, num-batches or test-batch-size, are none of training's batch size
NAMES = {
    *("b", "bs", "bsz", "mbs", "batch", "batchsize", "batch_size", "train_batch", "train_batch_size"),
    *("micro_batch_size", "global_batch_size", "total_batch_size", "batch_size_per_gpu", "batch_size_per_device"),
    *("per_gpu_batch_size", "per_device_batch_size", "per_gpu_train_batch_size", "per_device_train_batch_size"),
}


def check(bench: Bench) -> Iterator[Finding]:
    axis = next((name for name in bench.axes if is_batch_size(name)), "")
    groups = [group for group in bench.pairs(axis) if all(_size(one, axis) for one in group)] if axis else []
    if groups and bench.simulated:
        raise CannotCheck("PRF373.simulated")
    if groups and bench.unit == "steps":
        raise CannotCheck("PRF373.no_samples")
    for group in groups:
        yield _judged(sorted(group, key=lambda one: _size(one, axis)))


def is_batch_size(name: str) -> bool:
    return name.lstrip("-").replace("-", "_").lower() in NAMES


def _size(one: Measured, axis: str) -> int:
    """0 where the value is no number: a switch, a word."""
    text = str(one.settings[axis])
    return int(text) if text.isdecimal() else 0


def _judged(group: list[Measured]) -> Finding:
    gains = [100 * (large.rate_per_s / small.rate_per_s - 1) for small, large in zip(group, group[1:])]
    at = next((at for at, gain in enumerate(gains) if gain < LITTLE), len(gains))
    args: dict[str, Scalar] = {"name": group[at].name, "smallest": group[0].name, "limit": LITTLE}
    args["gain"] = round(100 * (group[at].rate_per_s / group[0].rate_per_s - 1), 1)
    return Finding(CODE, Status.OK, "PRF373.grows" if at == len(gains) else "PRF373.knee", args)
