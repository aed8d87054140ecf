"""ACC206: did an NPU take part? A GPU or CPU held against itself says nothing about an NPU, however well it agrees."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison

CODE = "ACC206"


def check(facts: Comparison) -> Iterator[Finding]:
    left, right = facts.baseline.about, facts.target.about
    if left is not None and right is not None and not right.tier.startswith("npu"):
        args = {"baseline": left.tier, "target": right.tier}
        yield Finding(CODE, Status.WARN, "ACC206.no_npu", dict(args), weight=400)
