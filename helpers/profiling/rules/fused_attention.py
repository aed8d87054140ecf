"""Is attention computed in parts, matrix products around a softmax, instead of by one fused operator?"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.fusions import Fusion, unfused

CODE = "PRF361"
SOURCE = "https://gitcode.com/Ascend/msprof-analyze/blob/master/docs/en/fused_operator_api_replacement_example.md"
PRODUCTS = ("aten::bmm", "aten::baddbmm", "aclnnBatchMatMul*", "aclnnBaddbmm*")
SOFTMAX = ("aten::softmax", "aten::_softmax", "aclnnSoftmax*")
FUSION = Fusion(
    types=("Softmax*", "BatchMatMul*", "MaskedFill*", "DropOut*"),
    operators=(*SOFTMAX, *PRODUCTS, "aten::_softmax_backward_data"),
    mark_types=(("Softmax*",), ("BatchMatMul*",)),
    mark_operators=(SOFTMAX, PRODUCTS),
    fused=("FlashAttention*", "aten::_scaled_dot_product*", "aten::_flash_attention*", "aclnnFlashAttention*"),
)


def check(profile: Profile) -> Iterator[Finding]:
    yield unfused(profile, "PRF361.change", FUSION, SOURCE)
