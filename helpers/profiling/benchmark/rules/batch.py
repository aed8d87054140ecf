"""Batch size: what the largest brings over the smallest, and from where on a larger one brings little."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF373"
#: A step to the next size that brings less than this, in percent, is not worth its memory
LITTLE = 5.0


def check(bench: Bench) -> Iterator[Finding]:
    axis = next((name for name in bench.axes if is_batch_size(name)), "")
    groups = bench.pairs(axis) if axis else []
    if groups and bench.simulated:
        raise CannotCheck("PRF373.simulated")
    if groups and bench.unit == "steps":
        raise CannotCheck("PRF373.no_samples")
    for group in groups:
        yield _judged(sorted(group, key=lambda one: float(str(one.settings[axis]))))


def is_batch_size(name: str) -> bool:
    plain = name.replace("-", "_").lower()
    return "batch" in plain or plain in ("b", "bs", "bsz")


def _judged(group: list[Measured]) -> Finding:
    gains = [100 * (large.rate_per_s / small.rate_per_s - 1) for small, large in zip(group, group[1:])]
    at = next((at for at, gain in enumerate(gains) if gain < LITTLE), len(gains))
    args: dict[str, Scalar] = {"name": group[at].name, "smallest": group[0].name, "limit": LITTLE}
    args["gain"] = round(100 * (group[at].rate_per_s / group[0].rate_per_s - 1), 1)
    return Finding(CODE, Status.OK, "PRF373.grows" if at == len(gains) else "PRF373.knee", args)
