"""Do input shapes change from step to step? Then steps differ in length, and short samples pay for long ones' padding.

A sampler that puts samples of like length into one batch (length-bucketed) evens them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, needs_device
from helpers.rules import CannotCheck

CODE = "PRF397"
SOURCE = "https://docs.pytorch.org/docs/stable/data.html#data-loading-order-and-sampler"
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    trace, steady = profile.trace, profile.breakdown.steady
    if len(steady) < 3 or not any(trace.shapes):
        raise CannotCheck("PRF397.unseen")
    numbers = {step.number for step in steady}
    at = [place for place, step in enumerate(trace.steps) if step.number in numbers]
    rows = trace.where(("host_op",)) & (trace.shape != 0) & trace.in_steps(numbers)
    # all pairs of step and shape at once, for steps may be many
    pairs = np.unique(trace.step[rows] * np.int64(len(trace.shapes)) + trace.shape[rows])
    step, shape = pairs // len(trace.shapes), pairs % len(trace.shapes)
    sets = {shape[first:last].tobytes() for first, last in zip(*(np.searchsorted(step, at, side) for side in SIDES))}
    fastest = min(step.total_ns for step in steady)
    share = 1 - fastest / (sum(step.total_ns for step in steady) / len(steady)) if len(sets) > 1 else 0.0
    yield advice(profile, "PRF397.change", share, SOURCE, worth=0.03, steps=len(steady), sets=len(sets))
