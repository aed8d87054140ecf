"""Layers that give quantised rows. Formulas: npu_add_rms_norm_dynamic_quant.md, npu_swiglu_quant.md
(registry.DOCUMENTS), aclnnSwiGluQuantV2.md (https://gitcode.com/cann/ops-nn).

What the NPU leaves without a value (an output that is switched off, the scale of a static quantisation) is zero here.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .low_bits import INT4, LARGEST, asked_dtype, round_to_dtype
from .normalisation import rms_norm
from .numeric import as_wide
from .quantisation import by_largest, rows_of_groups
from .registry import FLOATS, HALVES, reference

NORM = "npu_add_rms_norm_dynamic_quant"


def _outputs_asked(mask: Sequence[bool] | None, first: Tensor | None, second: Tensor | None) -> tuple[bool, bool]:
    """Return which of the two quantised outputs are asked for."""
    if mask is None:
        return True, first is not None and second is not None
    if not any(mask):
        raise RuntimeError("When the output_mask is not empty, at least one of y1 and y2 must be output.")
    if (first is not None and not mask[0]) or (second is not None and not mask[1]):
        raise RuntimeError(f"{NORM}: output_mask should be True where there is a smooth_scale")
    return mask[0], mask[1]


@reference(
    "npu::npu_add_rms_norm_dynamic_quant",
    dtypes=dict.fromkeys(("x1", "x2", "gamma", "smooth_scale1", "smooth_scale2", "beta"), HALVES),
)
def npu_add_rms_norm_dynamic_quant(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    *,
    smooth_scale1: Tensor | None = None,
    smooth_scale2: Tensor | None = None,
    beta: Tensor | None = None,
    epsilon: float = 1e-6,
    output_mask: Sequence[bool] | None = None,
    y_dtype: torch.dtype | int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(y1, y2, x1 + x2, scale1, scale2): the normalised sum times each smoothing scale, quantised row by row."""
    if x1.shape != x2.shape or not 2 <= x1.dim() <= 8:
        raise RuntimeError(f"{NORM}: x1 and x2 should have one shape, of 2 to 8 dimensions")
    for vector in (gamma, smooth_scale1, smooth_scale2, beta):
        if vector is not None and (vector.shape != x1.shape[-1:] or vector.dtype != x1.dtype):
            raise RuntimeError(f"{NORM}: gamma, beta and the smooth scales should have the dtype and columns of x1")
    kind = asked_dtype(y_dtype, torch.int8, (torch.int8, INT4), f"{NORM}: y_dtype")
    total = as_wide(x1) + as_wide(x2)
    normal = rms_norm(total, gamma, epsilon)[0]
    normal = normal if beta is None else normal + as_wide(beta)
    nothing = torch.zeros((), dtype=torch.int32 if kind == INT4 else torch.int8), torch.zeros((), dtype=torch.float32)
    results = [
        by_largest(normal if smooth is None else normal * as_wide(smooth), kind) if asked else nothing
        for asked, smooth in zip(
            _outputs_asked(output_mask, smooth_scale1, smooth_scale2), (smooth_scale1, smooth_scale2)
        )
    ]
    return results[0][0], results[1][0], total.to(x1.dtype), results[0][1], results[1][1]


def of_rows(values: Tensor, groups: Tensor, neutral: float) -> Tensor:
    """Return the entry of each row's group; rows beyond the last group have the neutral one."""
    rows = values.float().reshape(values.shape[0], -1)
    return torch.cat([rows, torch.full_like(rows[:1], neutral)])[groups]


def _two_in_one(whole: Tensor) -> Tensor:
    """Pack pairs of int4 in an int8, the first in the lower bits."""
    return (whole[..., ::2] & 15) | (whole[..., 1::2] << 4)


@reference(
    "npu::npu_swiglu_quant",
    dtypes={"x": FLOATS, "smooth_scales": (torch.float32,), "offsets": (torch.float32,), "group_index": (torch.int32,)},
)
def npu_swiglu_quant(
    x: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    offsets: Tensor | None = None,
    group_index: Tensor | None = None,
    activate_left: bool = False,
    quant_mode: int = 0,
    group_list_type: int = 0,
    dst_type: torch.dtype | int | None = None,
) -> tuple[Tensor, Tensor]:
    """(silu(one half) * the other, smoothed, in int8 or two int4 in an int8; 127 over the largest of a row)."""
    kind = asked_dtype(dst_type, torch.int8, (torch.int8, INT4), "npu_swiglu_quant: dst_type")
    _check_swiglu(x, smooth_scales, offsets, group_index, quant_mode, group_list_type, 4 if kind == INT4 else 2)
    first, second = as_wide(x).reshape(-1, x.shape[-1]).chunk(2, -1)
    gate, other = (first, second) if activate_left else (second, first)
    values = functional.silu(gate) * other
    ends = [values.shape[0]] if group_index is None else group_index.tolist()
    ends = torch.tensor(ends).cumsum(0).tolist() if group_list_type == 1 and group_index is not None else ends
    groups = rows_of_groups(ends, values.shape[0], "npu_swiglu_quant: group_index")
    values = values if smooth_scales is None else values * of_rows(smooth_scales, groups, 1)
    largest, scale = LARGEST[kind], values.new_zeros(values.shape[0])
    if quant_mode == 1:
        scale = largest / values.abs().amax(-1)
        values = values * scale[:, None]
    elif offsets is not None:
        values = values + of_rows(offsets, groups, 0)
    whole = round_to_dtype(values.clamp(-1 - largest, largest), torch.int8)
    whole = _two_in_one(whole) if kind == INT4 else whole
    return whole.reshape(*x.shape[:-1], -1), scale.reshape(x.shape[:-1])


def _check_swiglu(
    x: Tensor, smooth: Tensor | None, offsets: Tensor | None, group_index: Tensor | None, mode: int, kind: int, by: int
) -> None:
    name, half = "npu_swiglu_quant", x.shape[-1] // 2
    if mode not in (0, 1) or kind not in (0, 1):
        raise RuntimeError(f"{name}: quant_mode and group_list_type should be 0 or 1, but got {mode} and {kind}")
    if x.dim() < 2 or x.shape[-1] % by or x.shape[-1] > 8192:
        raise RuntimeError(f"{name}: the last dimension of x should be divisible by {by} and at most 8192")
    groups = 1 if group_index is None else group_index.numel()
    if mode == 0 and (smooth is None or offsets is None or smooth.shape != offsets.shape):
        raise RuntimeError(f"{name}: smooth_scales and offsets should have the same shape when quant_mode is 0")
    shapes = [(groups, half)] + ([(groups,)] if mode == 0 or groups == half == 1 else [])
    if smooth is not None and tuple(smooth.shape) not in shapes:
        raise RuntimeError(f"{name}: smooth_scales of the shape {tuple(smooth.shape)}, not one of {shapes}")
