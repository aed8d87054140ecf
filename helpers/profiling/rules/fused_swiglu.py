"""Is SwiGLU computed in parts, a swish and a product, instead of by one fused operator?"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.fusions import Fusion, unfused

CODE = "PRF364"
SOURCE = "https://gitcode.com/Ascend/msprof-analyze/blob/master/docs/en/fused_operator_api_replacement_example.md"
FUSION = Fusion(
    types=("Swish*", "Silu*"),
    operators=("aten::silu", "aten::silu_backward", "aclnnSilu*"),
    mark_types=(("Swish*", "Silu*"), ("Mul",)),
    mark_operators=(("aten::silu", "aclnnSilu*"), ("aten::mul", "aclnnMul*")),
    fused=("SwiGlu*", "Swiglu*"),
)  # fmt: skip


def check(profile: Profile) -> Iterator[Finding]:
    yield unfused(profile, "PRF364.change", FUSION, SOURCE)
