"""Operators that are computed in parts though one fused operator does the same: what their parts cost.

PRF361: Is attention computed in parts, matrix products around a softmax, instead of by one fused operator?

PRF362: Is RMSNorm computed in parts, square, mean and reciprocal root, instead of by one fused operator?

PRF363: Is the rotary embedding computed in parts, negation and concatenation of halves, instead of by one operator?

PRF364: Is SwiGLU computed in parts, a swish and a product, instead of by one fused operator?

PRF401: Is memory laid out anew around attention, transposes that npu_confusion_transpose does with their reshape?

PRF402: Is a masked softmax computed in parts, scaling, masking and softmax, instead of by one fused operator?

PRF403: Is GELU computed in parts, an error function or tanh and products, instead of by one operator?

PRF404: Is GEGLU computed in parts, a split, GELU and a product, instead of by one fused operator?

PRF405: Is a linear layer's bias added by a kernel of its own?

PRF406: Is the cross entropy computed in parts, a logarithm of softmax and the loss, instead of by one fused operator?

PRF407: Is LayerNorm computed in parts, means, differences and a root, instead of by one fused operator?"""

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
    "PRF401": Fusion(
        types=("Transpose*",),
        operators=("aten::transpose", "aten::permute", "aclnnPermute*", "Transpose*"),
        mark_types=(("Transpose*",), ("BatchMatMul*", "FlashAttention*")),
        mark_operators=(("aclnnPermute*", "Transpose*"), (*PRODUCTS, "aclnnFlashAttention*")),
        fused=("ConfusionTranspose*", "npu::npu_confusion_transpose"),
    ),
    "PRF402": Fusion(
        types=("MaskedFill*", "Softmax*", "Muls", "Mul"),
        operators=("aten::masked_fill_", "aten::masked_fill", *SOFTMAX, "aclnnMaskedFill*", "aclnnInplaceMaskedFill*"),
        mark_types=(("MaskedFill*",), ("Softmax*",)),
        mark_operators=(
            ("aten::masked_fill_", "aten::masked_fill", "aclnnMaskedFill*", "aclnnInplaceMaskedFill*"),
            SOFTMAX,
        ),
        fused=("ScaledMaskedSoftmax*", "npu::npu_scaled_masked_softmax"),
    ),
    "PRF403": Fusion(
        types=("Erf", "Tanh", "Pow*"),
        operators=("aten::erf", "aten::tanh", "aclnnErf*", "aclnnTanh*"),
        mark_types=(("Erf", "Tanh"), ("Mul", "Muls")),
        mark_operators=(("aten::erf", "aten::tanh", "aclnnErf*", "aclnnTanh*"), ("aten::mul", "aclnnMul*")),
        fused=("Gelu*", "FastGelu*", "aclnnGelu*", "aten::gelu"),
    ),
    "PRF404": Fusion(
        types=("Gelu", "GeluV2", "FastGelu"),
        operators=("aten::gelu", "aten::gelu_backward", "aclnnGelu*"),
        mark_types=(("Gelu", "GeluV2", "FastGelu"), ("Mul",), ("Split*", "Slice*", "StridedSlice*")),
        mark_operators=(("aten::gelu", "aclnnGelu*"), ("aten::mul", "aclnnMul*"), ("aten::split", "aten::chunk")),
        fused=("GeGlu*", "npu::npu_geglu"),
    ),
    "PRF405": Fusion(
        types=("BiasAdd*",),
        operators=("aten::add_", "aclnnInplaceAdd"),
        mark_types=(("BiasAdd*",), ("MatMul*",)),
        mark_operators=(("aclnnBiasAdd*",), ("aten::mm", "aten::matmul", "aclnnMm", "aclnnMatmul")),
        fused=("npu::npu_linear", "aclnnAddmm", "aten::addmm"),
    ),
    "PRF406": Fusion(
        types=("LogSoftmax*", "NLLLoss*"),
        operators=("aten::_log_softmax", "aten::nll_loss_forward", "aclnnLogSoftmax*", "aclnnNLLLoss*"),
        mark_types=(("LogSoftmax*",), ("NLLLoss*",)),
        mark_operators=(
            ("aten::_log_softmax", "aclnnLogSoftmax*"),
            ("aten::nll_loss_forward", "aten::nll_loss2d_forward", "aclnnNLLLoss*"),
        ),
        fused=("CrossEntropyLoss*", "npu::npu_cross_entropy_loss"),
    ),
    "PRF407": Fusion(
        types=("ReduceMean*", "Sub", "Square", "Pow*", "Rsqrt*", "Sqrt", "RealDiv"),
        operators=("aten::mean", "aten::var", "aten::sub", "aten::sqrt", "aten::rsqrt", "aclnnMean*", "aclnnVar*"),
        mark_types=(("Sub",), ("ReduceMean*",), ("Sqrt", "Rsqrt*"), ("RealDiv",)),
        mark_operators=(
            ("aten::sub", "aclnnSub*"),
            ("aten::mean", "aclnnMean*"),
            ("aten::sqrt", "aten::rsqrt", "aclnnSqrt*", "aclnnRsqrt*"),
            ("aten::div", "aclnnDiv*"),
        ),
        fused=("LayerNorm*", "aten::native_layer_norm", "aclnnLayerNorm*"),
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
