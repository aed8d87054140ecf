"""Does the optimizer update parameters in many passes over memory? A fused one reads and writes each value once.

Foreach kernels are the parts of an optimizer that was not fused, of gradient clipping too."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, computing_by, needs_device

CODE = "PRF360"
SOURCE = "https://gitcode.com/Ascend/msprof-analyze/blob/master/docs/en/fused_operator_api_replacement_example.md"
PARTS = (("Foreach*",), ("aten::_foreach_*", "aclnnForeach*", "Foreach*"))


def check(profile: Profile) -> Iterator[Finding]:
    needs_device(profile, CODE)
    share, calls = computing_by(profile, *PARTS)
    names = sorted({one.name for one in profile.operators if "oreach" in one.name})[:4]
    yield advice(profile, "PRF360.change", share, SOURCE, calls=round(calls), operators=list(names))
