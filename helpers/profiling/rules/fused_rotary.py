"""Is the rotary embedding computed in parts, negation and concatenation of halves, instead of by one operator?"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.fusions import Fusion, unfused

CODE = "PRF363"
SOURCE = "https://gitcode.com/Ascend/msprof-analyze/blob/master/docs/en/fused_operator_api_replacement_example.md"
FUSION = Fusion(
    types=("Neg", "Concat*", "Slice*"),
    operators=("aten::neg", "aten::cat", "aclnnNeg*", "aclnnCat*"),
    mark_types=(("Neg",), ("Concat*",), ("Cos",)),
    mark_operators=(("aten::neg", "aclnnNeg*"), ("aten::cat", "aclnnCat*"), ("aten::cos", "aclnnCos*")),
    fused=("RotaryPosition*", "RotaryMul*", "ApplyRotary*"),
)  # fmt: skip


def check(profile: Profile) -> Iterator[Finding]:
    yield unfused(profile, "PRF363.change", FUSION, SOURCE)
