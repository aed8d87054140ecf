"""A grouped product of quantised matrices, gated and quantised row by row.

Formulas: npu_grouped_matmul_swiglu_quant_v2.md (registry.DOCUMENTS). There are no private layouts here: a weight is
(E, K, N), also where the NPU wants FRACTAL_NZ, and one given as five dimensions is refused. Rows beyond the last group,
which the NPU leaves as they were, are zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .grouped_matmul import spans_of
from .grouped_products import scaled_by_groups
from .low_bits import asked_dtype, scale_of, unpack_int4, unpacked_matrix
from .quantisation import by_largest
from .registry import reference

NAME = "npu_grouped_matmul_swiglu_quant_v2"
STORED = (torch.int8, torch.int32)
SCALES = (torch.float32, torch.float16, torch.bfloat16, torch.int64)
TYPES = {"x": STORED, "weight": STORED, "weight_scale": SCALES, "x_scale": (torch.float32,)}


def _refuse_if(condition: bool, text: str) -> None:
    if condition:
        raise RuntimeError(f"{NAME}: {text} (npu_grouped_matmul_swiglu_quant_v2.md)")


def _choose_case(
    x: Tensor, weight: Tensor, scale: Tensor, x_scale: Tensor, assisted: bool, smooth: Tensor | None
) -> str:
    """Return the documented case: A8W8, A8W4 or A4W4, activations and weights with 8 or 4 bits."""
    if weight.dim() == 5:
        raise NotImplementedError(f"the NPU simulator lacks {NAME} with a weight in a private layout, not (E, K, N)")
    case = f"A{8 if x.dtype == torch.int8 else 4}W{8 if weight.dtype == torch.int8 else 4}"
    _refuse_if(x.dim() != 2 or weight.dim() != 3 or case == "A4W8", f"x {x.dtype} {x.shape}, weight {weight.dtype}")
    allowed = {"A8W8": SCALES[:3], "A8W4": (torch.int64,), "A4W4": (torch.float32, torch.int64)}[case]
    _refuse_if(scale.dtype not in allowed, f"weight_scale of {scale.dtype} for {case}")
    _refuse_if(scale.dim() not in ((2, 3) if case == "A8W4" else (2,)), f"weight_scale {tuple(scale.shape)} for {case}")
    _refuse_if(
        scale.shape[0] != weight.shape[0] or x_scale.shape != x.shape[:1], "weight_scale or x_scale does not fit"
    )
    _refuse_if(assisted != (case == "A8W4"), f"weight_assist_matrix is for A8W4 alone, and needed there, not {case}")
    _refuse_if(smooth is not None and case != "A4W4", f"smooth_scale is for A4W4 alone, not {case}")
    return case


def _quantised_rows(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    x_scale: Tensor,
    group_list: Tensor,
    kind: int,
    assist: Tensor | None,
    smooth: Tensor | None,
) -> tuple[Tensor, Tensor]:
    case = _choose_case(x, weight, scale, x_scale, assist is not None, smooth)
    _refuse_if(kind not in (0, 1), f"group_list_type {kind}")
    _refuse_if(group_list.shape != weight.shape[:1], "group_list should have one entry per group of the weight")
    rows = unpack_int4(x) if case == "A4W4" else x.to(torch.int16) - 8 if case == "A8W4" else x
    values = torch.zeros(x.shape[0], scale.shape[-1] // 2, dtype=torch.float32)
    for index, start, end in spans_of(group_list, kind, NAME):
        _refuse_if(end > x.shape[0], f"group_list ends beyond the {x.shape[0]} rows of x")
        if start == end:
            continue
        matrix = weight[index] if case == "A8W8" else unpacked_matrix(weight[index])
        total = scaled_by_groups(rows[start:end], matrix, scale_of(scale[index]))
        total = total if assist is None else total + assist[index]
        first, second = (total * x_scale[start:end, None]).chunk(2, -1)
        gated = functional.silu(first) * second
        values[start:end] = gated if smooth is None else gated * smooth[index]
    return by_largest(values, torch.int8)


@reference("npu::npu_grouped_matmul_swiglu_quant", dtypes={**TYPES, "bias": (torch.float32,)})
def npu_grouped_matmul_swiglu_quant(
    x: Tensor,
    weight: Tensor,
    group_list: Tensor,
    weight_scale: Tensor,
    x_scale: Tensor,
    *,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(int8 rows, their scales, nothing); group_list is cumulative, the bias is what A8W4 adds."""
    result = _quantised_rows(x, weight, weight_scale, x_scale, group_list, 0, bias, None)
    return (*result, torch.zeros((), dtype=torch.float32))


@reference(
    "npu::npu_grouped_matmul_swiglu_quant_v2",
    dtypes={**TYPES, "group_list": (torch.int64,), "smooth_scale": (torch.float32,)},
)
def npu_grouped_matmul_swiglu_quant_v2(
    x: Tensor,
    weight: Sequence[Tensor],
    weight_scale: Sequence[Tensor],
    x_scale: Tensor,
    group_list: Tensor,
    *,
    smooth_scale: Tensor | None = None,
    weight_assist_matrix: Sequence[Tensor] | None = None,
    dequant_mode: int | None = 0,
    dequant_dtype: torch.dtype | int | None = 6,
    quant_mode: int | None = 0,
    quant_dtype: torch.dtype | int | None = 1,
    group_list_type: int | None = 0,
    tuning_config: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor]:
    """(int8 rows, their scales) of silu(first half) * second half. `tuning_config` is about speed only."""
    _refuse_if(len(weight) != 1 or len(weight_scale) != 1, "weight and weight_scale should have one tensor")
    by_rows = weight_scale[0].dim() == 3
    _refuse_if((dequant_mode or 0) not in (0, 1) or bool(dequant_mode) != by_rows, f"dequant_mode {dequant_mode}")
    _refuse_if(quant_mode not in (None, 0), f"quant_mode {quant_mode} on an Ascend A2")
    if dequant_dtype != 0:  # the page's default, which stands for float32
        asked_dtype(dequant_dtype, torch.float32, (torch.float32,), f"{NAME}: dequant_dtype")
    if quant_dtype != 0:
        asked_dtype(quant_dtype, torch.int8, (torch.int8,), f"{NAME}: quant_dtype")
    assist = weight_assist_matrix[0] if weight_assist_matrix else None
    smooth = smooth_scale[:, None] if smooth_scale is not None and smooth_scale.dim() == 1 else smooth_scale
    arguments = (x, weight[0], weight_scale[0], x_scale, group_list, group_list_type or 0, assist, smooth)
    return _quantised_rows(*arguments)
