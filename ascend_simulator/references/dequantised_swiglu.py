"""Whole numbers dequantised, gated and quantised again, row by row. Formulas: npu_dequant_swiglu_quant.md
(registry.DOCUMENTS), aclnnDequantSwigluQuantV2.md (https://gitcode.com/cann/ops-nn). Rows beyond the groups are zero.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from .low_bits import round_to_dtype
from .numeric import as_wide
from .quantisation import by_largest, rows_of_groups
from .quantised_layers import of_rows
from .registry import FLOATS, HALVES, reference

NAME = "npu_dequant_swiglu_quant"


@reference(
    "npu::npu_dequant_swiglu_quant",
    dtypes={
        "x": (torch.int32, *HALVES),
        "weight_scale": (torch.float32,),
        "activation_scale": (torch.float32,),
        "bias": (torch.int32,),
        "quant_scale": FLOATS,
        "quant_offset": FLOATS,
        "group_index": (torch.int64,),
    },
)
def npu_dequant_swiglu_quant(
    x: Tensor,
    *,
    weight_scale: Tensor | None = None,
    activation_scale: Tensor | None = None,
    bias: Tensor | None = None,
    quant_scale: Tensor | None = None,
    quant_offset: Tensor | None = None,
    group_index: Tensor | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    swiglu_mode: int = 0,
    clamp_limit: float = 7.0,
    glu_alpha: float = 1.702,
    glu_bias: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """(int8 rows, their scales) of the gated, dequantised x; group_index holds the number of rows of each group."""
    if quant_mode not in (0, 1):
        raise RuntimeError(f"quant_mode only support 0 or 1, but got {quant_mode}")
    half = x.shape[-1] // 2
    if x.dim() != 2 or x.shape[-1] % 2 or (group_index is not None and (half % 64 or half > 10496 or bias is not None)):
        raise RuntimeError(f"{NAME}: x of {x.shape} with this group_index and bias (npu_dequant_swiglu_quant.md)")
    sizes = [x.shape[0]] if group_index is None else group_index.tolist()
    groups = rows_of_groups(torch.tensor(sizes).cumsum(0).tolist(), x.shape[0], f"{NAME}: the sum of group_index")
    values = _dequantise(x, weight_scale, activation_scale, bias, groups, len(sizes))
    values = _apply_gate(values, activate_left, swiglu_mode, clamp_limit, glu_alpha, glu_bias)
    values = values * (groups < len(sizes))[:, None]
    if quant_mode == 1:
        if quant_offset is not None:
            raise RuntimeError(f"{NAME}: quant_offset is for quant_mode 0 (static) alone")
        if quant_scale is not None:
            _check_groups("quant_scale", quant_scale, (len(sizes), half))
            values = values * of_rows(torch.atleast_2d(quant_scale), groups, 1)
        return by_largest(values, torch.int8)
    none = torch.zeros(x.shape[0], dtype=torch.float32)
    return _quantise_static(values, quant_scale, quant_offset, groups, len(sizes)), none


def _quantise_static(values: Tensor, scale: Tensor | None, offset: Tensor | None, groups: Tensor, count: int) -> Tensor:
    """Return round(values / scale + offset): unlike the dynamic one, the static quantisation divides."""
    if scale is None or offset is None or (scale.dtype, scale.shape) != (torch.float32, offset.shape):
        raise RuntimeError(f"{NAME}: quant_mode 0 (static) needs quant_scale in float32 and a quant_offset like it")
    if tuple(scale.shape) not in ((count,), (count, values.shape[1])):
        raise RuntimeError(f"{NAME}: quant_scale of the shape {tuple(scale.shape)} for quant_mode 0 (static)")
    return round_to_dtype(values / of_rows(scale, groups, 1) + of_rows(offset, groups, 0), torch.int8)


def _check_groups(argument: str, values: Tensor, shape: tuple[int, int]) -> None:
    if tuple(torch.atleast_2d(values).shape) != shape:
        raise RuntimeError(f"{NAME}: {argument} should have the shape {shape}, but got {tuple(values.shape)}")


def _dequantise(
    x: Tensor, weight: Tensor | None, token: Tensor | None, bias: Tensor | None, groups: Tensor, count: int
) -> Tensor:
    if x.dtype != torch.int32:
        if weight is not None or token is not None or bias is not None:
            raise NotImplementedError(f"the NPU simulator lacks {NAME} of {x.dtype} with scales or a bias")
        return as_wide(x)
    if weight is None:
        raise RuntimeError(f"{NAME}: an int32 x needs weight_scale")
    _check_groups("weight_scale", weight, (count, x.shape[1]))
    values = (x if bias is None else x + bias).float() * of_rows(torch.atleast_2d(weight), groups, 1)
    return values if token is None else values * token.reshape(-1, 1)


def _apply_gate(values: Tensor, left: bool, mode: int, limit: float, alpha: float, bias: float) -> Tensor:
    if mode not in (0, 1, 2) or (mode == 1 and not left):
        raise RuntimeError(f"{NAME}: swiglu_mode should be 0, 1 with activate_left, or 2, but got {mode}")
    first, second = (values[:, ::2], values[:, 1::2]) if mode == 1 else values.chunk(2, -1)
    gate, other = (first, second) if left else (second, first)
    if mode == 0:
        return functional.silu(gate) * other
    gate, other = gate.clamp(max=limit), other.clamp(-limit, limit)
    return gate * torch.sigmoid(alpha * gate) * (other + bias)
