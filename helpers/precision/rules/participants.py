"""ACC206: did an NPU take part? A GPU or CPU held against itself says nothing about an NPU, however well it agrees."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison

CODE = "ACC206"
BASIS = "defined"


def check(facts: Comparison) -> Iterator[Finding]:
    left, right = facts.baseline.about, facts.target.about
    if left is None or right is None:
        return
    where = [str(name) for name in right.about.get("parameter_devices", ())]
    if not right.tier.startswith("npu"):
        yield Finding(CODE, Status.WARN, "ACC206.no_npu", {"baseline": left.tier, "target": right.tier}, weight=400)
    elif where and not any(name.startswith("npu") for name in where):
        yield Finding(CODE, Status.WARN, "ACC206.off_npu", {"devices": list(where)}, weight=400)
