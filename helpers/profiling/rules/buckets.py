"""Do gradients travel in pieces of a fitting size? Too large a bucket has nothing left to hide behind, too small ones
cost their start each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, needs_device, sending_share

CODE = "PRF398"
SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"
SMALL_NS, MANY, LARGE = 200_000, 20, 0.5


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    spans, steps = profile.exposed.spans_ns, len(profile.breakdown.steady)
    calls = spans.size / steps
    middle = float(np.median(spans)) if spans.size else 0.0
    largest = float(spans.max() / spans.sum() * steps) if spans.size else 0.0
    sent, waiting = sending_share(profile, "gradients")
    key = "PRF398.small" if calls >= MANY and middle < SMALL_NS else "PRF398.large"
    share = sent if key == "PRF398.small" or min(1.0, largest) >= LARGE else 0.0
    args = {"calls": round(calls, 1), "middle_ms": profile.ms(middle), "largest": round(100 * min(1.0, largest), 1)}
    yield advice(profile, key, share, SOURCE, waiting=waiting, **args)
