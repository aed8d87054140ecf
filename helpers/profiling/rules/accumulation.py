"""Would fewer exchanges of gradients help? Accumulating K steps exchanges once instead of K times (no_sync).

Only what sends gradients becomes less: not waiting for a late rank, not what pipeline stages send each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, needs_device, sending_share

CODE = "PRF399"
SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"
STEPS = 4


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    sent, waiting = sending_share(profile, "gradients")
    yield advice(profile, "PRF399.change", sent * (1 - 1 / STEPS), SOURCE, worth=0.05, steps=STEPS, waiting=waiting)
