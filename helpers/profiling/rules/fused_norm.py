"""Is RMSNorm computed in parts, square, mean and reciprocal root, instead of by one fused operator?"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.fusions import Fusion, unfused

CODE = "PRF362"
SOURCE = "https://gitcode.com/Ascend/msprof-analyze/blob/master/docs/en/fused_operator_api_replacement_example.md"
FUSION = Fusion(
    types=("Pow*", "Square", "ReduceMean*", "Rsqrt*"),
    operators=("aten::pow", "aten::mean", "aten::rsqrt", "aclnnPow*", "aclnnMean*", "aclnnRsqrt*"),
    mark_types=(("Rsqrt*",), ("Pow*", "Square"), ("ReduceMean*",)),
    mark_operators=(("aten::rsqrt", "aclnnRsqrt*"), ("aten::pow", "aclnnPow*"), ("aten::mean", "aclnnMean*")),
    fused=("RmsNorm*", "aten::_fused_rms_norm", "aclnnRmsNorm*"),
)  # fmt: skip


def check(profile: Profile) -> Iterator[Finding]:
    yield unfused(profile, "PRF362.change", FUSION, SOURCE)
