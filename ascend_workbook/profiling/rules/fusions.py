"""Operators that are computed in parts though one fused operator does the same: what their parts cost.

PRF361: Is attention computed in parts, matrix products around a softmax, instead of by one fused operator?

PRF362: Is RMSNorm computed in parts, square, mean and reciprocal root, instead of by one fused operator?

PRF363: Is the rotary embedding computed in parts, negation and concatenation of halves, instead of by one operator?

PRF364: Is SwiGLU computed in parts, a swish and a product, instead of by one fused operator?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.rules import Check
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.savings import advise_change, needs_device, share_computing_by

Names = tuple[str, ...]
SOURCE = "https://gitcode.com/Ascend/msprof-analyze/blob/master/docs/en/fused_operator_api_replacement_example.md"
FOREACH = (("Foreach*",), ("aten::_foreach_*", "aclnnForeach*", "Foreach*"))
PRODUCTS = ("aten::bmm", "aten::baddbmm", "aclnnBatchMatMul*", "aclnnBaddbmm*")
SOFTMAX = ("aten::softmax", "aten::_softmax", "aclnnSoftmax*")


@dataclass(frozen=True)
class Fusion:
    """`types` and `operators` are the parts, whose time is the bound. They are taken for the pattern only where each
    group of the marks occurs at least once a step; `fused` are the operators that do it at once."""

    types: Names
    operators: Names
    mark_types: tuple[Names, ...]
    mark_operators: tuple[Names, ...]
    fused: Names


FUSIONS = {
    "PRF361": Fusion(
        types=("Softmax*", "BatchMatMul*", "MaskedFill*", "DropOut*"),
        operators=(*SOFTMAX, *PRODUCTS, "aten::_softmax_backward_data"),
        mark_types=(("Softmax*",), ("BatchMatMul*",)),
        mark_operators=(SOFTMAX, PRODUCTS),
        fused=("FlashAttention*", "aten::_scaled_dot_product*", "aten::_flash_attention*", "aclnnFlashAttention*"),
    ),
    "PRF362": Fusion(
        types=("Pow*", "Square", "ReduceMean*", "Rsqrt*"),
        operators=("aten::pow", "aten::mean", "aten::rsqrt", "aclnnPow*", "aclnnMean*", "aclnnRsqrt*"),
        mark_types=(("Rsqrt*",), ("Pow*", "Square"), ("ReduceMean*",)),
        mark_operators=(("aten::rsqrt", "aclnnRsqrt*"), ("aten::pow", "aclnnPow*"), ("aten::mean", "aclnnMean*")),
        fused=("RmsNorm*", "aten::_fused_rms_norm", "aclnnRmsNorm*"),
    ),
    "PRF363": Fusion(
        types=("Neg", "Concat*", "Slice*"),
        operators=("aten::neg", "aten::cat", "aclnnNeg*", "aclnnCat*"),
        mark_types=(("Neg",), ("Concat*",), ("Cos",)),
        mark_operators=(("aten::neg", "aclnnNeg*"), ("aten::cat", "aclnnCat*"), ("aten::cos", "aclnnCos*")),
        fused=("RotaryPosition*", "RotaryMul*", "ApplyRotary*"),
    ),
    "PRF364": Fusion(
        types=("Swish*", "Silu*"),
        operators=("aten::silu", "aten::silu_backward", "aclnnSilu*"),
        mark_types=(("Swish*", "Silu*"), ("Mul",)),
        mark_operators=(("aten::silu", "aclnnSilu*"), ("aten::mul", "aclnnMul*")),
        fused=("SwiGlu*", "Swiglu*"),
    ),
}


def check_fused_optimizer(profile: Profile) -> Iterator[Finding]:
    """Does the optimizer update parameters in many passes over memory? A fused one reads and writes each value once.
    Foreach kernels are the parts of an optimizer that was not fused, of gradient clipping too."""
    needs_device(profile, "PRF360")
    share, calls = share_computing_by(profile, *FOREACH)
    names = sorted({operator.name for operator in profile.operators if "oreach" in operator.name})[:4]
    yield advise_change(profile, "PRF360.change", share, SOURCE, calls=round(calls), operators=list(names))


def check_fusion(code: str, fusion: Fusion, profile: Profile) -> Iterator[Finding]:
    """Judge what the parts of one fusion cost. Raises CannotCheck without times of a real device."""
    needs_device(profile, code)
    share, calls = share_computing_by(profile, fusion.types, fusion.operators)
    mark_calls = [share_computing_by(profile, *names)[1] for names in zip(fusion.mark_types, fusion.mark_operators)]
    _, fused = share_computing_by(profile, fusion.fused, fusion.fused)
    if min(mark_calls) < 1:
        share, calls = 0.0, 0.0
    yield advise_change(profile, f"{code}.change", share, SOURCE, calls=round(calls), fused=round(fused))


RULES: dict[str, Check] = {code: partial(check_fusion, code, fusion) for code, fusion in FUSIONS.items()}
RULES["PRF360"] = check_fused_optimizer
