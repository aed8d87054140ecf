"""scaled_dot_product_attention: the NPU's fused operator where torch_npu takes it, the formula elsewhere."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import torch
import torch.nn.functional as F
from comparing import DTYPES, compare, leaves
from torch.profiler import ProfilerActivity, profile

SHAPES = [(2, 4, 9, 8), (2, 4, 7, 8), (2, 4, 7, 8)]
FUSED = "aten::_scaled_dot_product_flash_attention_for_cpu"


def called(*qkv: torch.Tensor, **options: Any) -> set[str]:
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        F.scaled_dot_product_attention(*qkv, **options)
    return {event.key for event in profiler.key_averages()}


def check_every_dtype_with_and_without_a_mask() -> None:
    hidden = torch.rand(9, 7) > 0.6
    hidden[:, 0] = False
    for dtype in DTYPES:
        compare(F.scaled_dot_product_attention, F.scaled_dot_product_attention, leaves(*SHAPES, dtype=dtype), dtype)

        def masked(*qkv: torch.Tensor) -> torch.Tensor:
            return F.scaled_dot_product_attention(*qkv, attn_mask=~hidden.to(qkv[0].device))

        compare(masked, masked, leaves(*SHAPES, dtype=dtype), dtype)


def check_a_causal_mask_and_a_scale() -> None:
    attend = functools.partial(F.scaled_dot_product_attention, is_causal=True, scale=0.3)
    for dtype in DTYPES:
        compare(attend, attend, leaves(*[(2, 4, 9, 8)] * 3, dtype=dtype), dtype)


def check_one_operator_where_the_npu_has_one() -> None:
    qkv = [tensor.npu() for tensor in leaves(*SHAPES)]
    assert FUSED in called(*qkv)
    assert FUSED in called(*qkv, attn_mask=torch.ones(9, 7, dtype=torch.bool).npu())


def check_the_formula_where_the_npu_has_none() -> None:
    qkv = [tensor.npu() for tensor in leaves(*SHAPES)]
    assert FUSED not in called(*qkv, attn_mask=torch.zeros(9, 7).npu()), "a mask of numbers"
    assert FUSED not in called(*[tensor[0] for tensor in qkv]), "three dimensions"
    assert FUSED not in called(*[tensor[..., :6] for tensor in qkv]), "float32 heads of no multiple of 4"
    assert FUSED not in called(*qkv, dropout_p=0.5)


def check_it_is_no_fallback() -> None:
    F.scaled_dot_product_attention(*[tensor.npu() for tensor in leaves(*SHAPES)])
    library = ctypes.CDLL("libnpu_sim_kernels.so")
    for said in (library.npu_sim_fallbacks, library.npu_sim_unknown_dtypes):
        said.restype = ctypes.c_char_p
        assert b"flash_attention_for_cpu" not in said() and b"npu_fusion_attention_v3" not in said()
