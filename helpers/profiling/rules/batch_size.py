"""Is each step too little work for the device? A larger batch gives every launch more of it."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, idle_share, needs_device

CODE = "PRF345"
SOURCE = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    found = profile.launches
    mean_us = found.kernel_ns / max(1, found.kernels) / 1000
    share = idle_share(profile, "host", "start")
    yield advice(profile, "PRF345.change", share, SOURCE, worth=0.10, kernels=found.kernels, mean_us=round(mean_us, 1))
