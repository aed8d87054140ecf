"""Floating point to int8 and int4, with scales given or found. Formulas: npu_quantize.md, npu_dynamic_quant.md,
npu_dynamic_quant_asymmetric.md, npu_group_quant.md, npu_trans_quant_param.md (registry.DOCUMENTS).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .low_bits import INT4, LARGEST, asked_dtype, packed_scale, round_to_dtype
from .numeric import as_wide
from .registry import FLOATS, HALVES, reference

INDICES = (torch.int32, torch.int64)
RANGES = {torch.uint8: (0, 255), torch.int8: (-128, 127), torch.int32: (-(2**31), 2**31 - 1)}
PLAIN = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}


def along_axis(values: Tensor, like: Tensor, axis: int) -> Tensor:
    """Return one value, or one per entry of the axis, in a shape that broadcasts with `like`."""
    if values.dim() > 1 or values.numel() == 1:
        return values.float()
    if values.numel() != like.shape[axis]:
        raise RuntimeError(f"{values.numel()} values do not fit dimension {axis} of size {like.shape[axis]}")
    shape = [1] * like.dim()
    shape[axis] = -1
    return values.float().reshape(shape)


def quantise_by_scales(x: Tensor, scales: Tensor, zero_points: Tensor | None, dtype: torch.dtype, axis: int) -> Tensor:
    """Return round(x / scales + zero_points), within the range of the dtype."""
    values = x.float() / along_axis(scales, x, axis)
    if zero_points is not None:
        values = values + along_axis(zero_points, x, axis)
    return values.double().round().clamp(*RANGES[dtype]).to(dtype)


def _check_division(x: Tensor, scales: Tensor, zero_points: Tensor | None) -> None:
    brain = scales.dtype == torch.bfloat16
    if not (scales.dtype == torch.float32 or (brain and x.dtype == scales.dtype)):
        raise RuntimeError(f"npu_quantize: scales of {scales.dtype} for input of {x.dtype}")
    floating = zero_points is not None and zero_points.is_floating_point()
    if zero_points is not None and floating and (not brain or zero_points.dtype != scales.dtype):
        raise RuntimeError(f"npu_quantize: zero_points of {zero_points.dtype} with scales of {scales.dtype}")


@reference(
    "npu::npu_quantize",
    dtypes={"input": FLOATS, "scales": FLOATS, "zero_points": (*FLOATS, torch.int8, torch.uint8, torch.int32)},
)
def npu_quantize(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    dtype: torch.dtype | int,
    axis: int = 1,
    div_mode: bool = True,
) -> Tensor:
    """round(input / scales + zero_points), or with * where div_mode is False; int4 is eight in an int32."""
    where = "npu_quantize: dtype"
    if div_mode:
        kind = asked_dtype(dtype, torch.qint8, [*PLAIN, *PLAIN.values()], where)
        _check_division(input, scales, zero_points)
        return quantise_by_scales(input, scales, zero_points, PLAIN.get(kind, kind), axis)
    kind = asked_dtype(dtype, torch.qint8, (torch.qint8, torch.int8, INT4), where + " with div_mode False")
    if input.dtype != scales.dtype or (zero_points is not None and zero_points.dtype != input.dtype):
        raise RuntimeError(f"npu_quantize: scales and zero_points should be {input.dtype} like input, div_mode False")
    place = -2 if axis < -1 else -1
    values = as_wide(input) * along_axis(scales, input, place)
    if zero_points is not None:
        values = values + along_axis(zero_points, input, place)
    return round_to_dtype(values, PLAIN.get(kind, kind))


def rows_of_groups(ends: Sequence[int], rows: int, where: str) -> Tensor:
    """Return the group of each row, from the cumulative ends of the groups; rows beyond the last have the number of
    groups.
    """
    if any(a > b for a, b in zip([0, *ends], [*ends, rows])):
        raise RuntimeError(f"{where} should be non-decreasing, from 0 to at most {rows} rows, but got {list(ends)}")
    return torch.searchsorted(torch.tensor(list(ends)), torch.arange(rows), right=True)


@reference("npu::npu_group_quant", dtypes={"x": FLOATS, "scale": FLOATS, "group_index": INDICES, "offset": FLOATS})
def npu_group_quant(
    x: Tensor,
    scale: Tensor,
    group_index: Tensor,
    *,
    offset: Tensor | None = None,
    dst_dtype: torch.dtype | int | None = None,
) -> Tensor:
    """round(x * scale of the row's group + offset); group_index holds the rows up to each group's end."""
    kind = asked_dtype(dst_dtype, torch.int8, (torch.int8, torch.qint8, INT4), "npu_group_quant: dst_dtype")
    ends = group_index.tolist()
    if len(ends) != scale.shape[0] or not ends or ends[-1] != x.shape[0]:
        raise RuntimeError("npu_group_quant: group_index should have one entry per row of scale and end at x.shape[0]")
    if offset is not None and (offset.dtype != scale.dtype or offset.numel() != 1):
        raise RuntimeError("npu_group_quant: offset should be one value with the dtype of scale")
    values = as_wide(x) * as_wide(scale)[rows_of_groups(ends, x.shape[0], "npu_group_quant: group_index")]
    values = values if offset is None else values + as_wide(offset)
    return round_to_dtype(values, PLAIN.get(kind, kind))


def smooth_rows(name: str, x: Tensor, smooth: Tensor | None, group_index: Tensor | None) -> Tensor:
    """Return x in float32, times one smoothing vector, or times that of each row's group."""
    if smooth is not None and smooth.dtype != x.dtype:
        raise RuntimeError(f"{name}: smooth_scales should have the dtype of x, {x.dtype}, but have {smooth.dtype}")
    if smooth is None:
        if group_index is not None:
            raise RuntimeError(f"{name}: group_index needs smooth_scales")
        return as_wide(x)
    if group_index is None:
        if tuple(smooth.shape) != (x.shape[-1],):
            raise RuntimeError(f"{name}: smooth_scales should have the shape ({x.shape[-1]},), but got {smooth.shape}")
        return as_wide(x) * as_wide(smooth)
    rows, ends = as_wide(x).reshape(-1, x.shape[-1]), group_index.tolist()
    if smooth.shape != (len(ends), x.shape[-1]) or not ends or ends[-1] != rows.shape[0]:
        raise RuntimeError(f"{name}: smooth_scales should have a row per group, and group_index end at {rows.shape[0]}")
    return (rows * as_wide(smooth)[rows_of_groups(ends, rows.shape[0], f"{name}: group_index")]).reshape(x.shape)


def by_largest(values: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return (whole numbers, scales): each row over its largest magnitude / 127, or / 7 for int4. A row of zeros stays
    so.
    """
    scale = values.abs().amax(-1) / LARGEST[dtype]
    return round_to_dtype(values / scale.unsqueeze(-1), dtype), scale


def _only_per_token(name: str, x: Tensor, quant_mode: str, dst_type_max: float) -> None:
    if x.dim() < 2:
        raise RuntimeError(f"{name}: Input shape dim should be greater than 1")
    if quant_mode != "pertoken":
        raise NotImplementedError(f"the NPU simulator lacks {name} with quant_mode {quant_mode}, as an Ascend A2 does")
    if dst_type_max != 0:
        raise NotImplementedError(f"the NPU simulator lacks {name} with dst_type_max, as an Ascend A2 does")


DYNAMIC = {"input": HALVES, "smooth_scales": HALVES, "group_index": (torch.int32,)}


@reference("npu::npu_dynamic_quant", dtypes=DYNAMIC)
def npu_dynamic_quant(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: torch.dtype | int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """(x / scale, scale = largest magnitude of the row / 127)."""
    _only_per_token("npu_dynamic_quant", input, quant_mode, dst_type_max)
    kind = asked_dtype(dst_type, torch.int8, (torch.int8, INT4), "npu_dynamic_quant: dst_type")
    return by_largest(smooth_rows("npu_dynamic_quant", input, smooth_scales, group_index), kind)


@reference("npu::npu_dynamic_quant_asymmetric", dtypes=DYNAMIC)
def npu_dynamic_quant_asymmetric(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: torch.dtype | int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """(x / scale + offset, scale = (max - min) / 255, offset = 127 - max / scale), row by row."""
    name = "npu_dynamic_quant_asymmetric"
    _only_per_token(name, input, quant_mode, dst_type_max)
    kind = asked_dtype(dst_type, torch.int8, (torch.int8, INT4), f"{name}: dst_type")
    values, top = smooth_rows(name, input, smooth_scales, group_index), LARGEST[kind]
    scale = ((values.amax(-1) - values.amin(-1)) / (2 * top + 1)).clamp(min=1e-12)
    offset = top - values.amax(-1) / scale
    return round_to_dtype(values / scale.unsqueeze(-1) + offset.unsqueeze(-1), kind), scale, offset


@reference("npu::npu_trans_quant_param", dtypes={"scale": (torch.float32,), "offset": (torch.float32,)})
def npu_trans_quant_param(scale: Tensor, offset: Tensor | None = None, round_mode: int | None = 0) -> Tensor:
    """int64: the scale in 19 bits (cut, or rounded with round_mode 1), and the offset in 9."""
    if round_mode not in (None, 0, 1):
        raise RuntimeError(f"round_mode must be 0 or 1. but now is {round_mode}")
    if scale.dim() not in (1, 2) or (offset is not None and offset.dim() not in (1, 2)):
        raise RuntimeError("npu_trans_quant_param: scale and offset should have one or two dimensions")
    result = packed_scale(scale, offset, nearest=round_mode == 1)
    if scale.dim() == 2 and result.shape != scale.shape:
        raise RuntimeError("npu_trans_quant_param: offset should fit the two-dimensional scale")
    return result
