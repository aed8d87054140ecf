"""Would fewer exchanges of gradients help? Accumulating K steps exchanges once instead of K times (no_sync)."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, needs_device

CODE = "PRF399"
SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"
STEPS = 4


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    share = profile.breakdown.share("communication") * (1 - 1 / STEPS)
    yield advice(profile, "PRF399.change", share, SOURCE, worth=0.05, steps=STEPS)
