"""Whole numbers of few bits as the NPU's quantised operators store them: int8, eight int4 in an int32, packed scales.

Layouts: npu_trans_quant_param.md, npu_convert_weight_to_int4pack.md (registry.DOCUMENTS).

Floating point to int8 and int4, with scales given or found. Formulas: npu_quantize.md, npu_dynamic_quant.md,
npu_dynamic_quant_asymmetric.md, npu_group_quant.md, npu_trans_quant_param.md (registry.DOCUMENTS).

int8, int4 and int32 to half precision. Formulas: npu_anti_quant.md (registry.DOCUMENTS); npu_dequant_bias:
test/test_base_ops/test_npu_dequant_bias.py of https://gitcode.com/Ascend/op-plugin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, HALVES, Arguments, derived_from, reference, takes

INT4 = torch.quint4x2  # how torch_npu names int4; torch has no int4 tensors
LARGEST = {torch.int8: 127.0, INT4: 7.0}
#: PyTorch passes a dtype for an int argument as its number (c10/core/ScalarType.h).
DTYPES = {
    0: torch.uint8,
    1: torch.int8,
    3: torch.int32,
    5: torch.float16,
    6: torch.float32,
    12: torch.qint8,
    13: torch.quint8,
    14: torch.qint32,
    15: torch.bfloat16,
    16: INT4,
}


def asked_dtype(
    value: torch.dtype | int | None, otherwise: torch.dtype, allowed: Sequence[torch.dtype], where: str
) -> torch.dtype:
    """Return the dtype an argument asks for; `where` names operator and argument when it is not one of `allowed`."""
    dtype = otherwise if value is None else DTYPES.get(value) if isinstance(value, int) else value
    if dtype not in allowed:
        supported = ", ".join(str(supported_dtype).removeprefix("torch.") for supported_dtype in allowed)
        raise RuntimeError(f"{where} should be one of [{supported}] on an Ascend A2, but got {dtype or value}")
    return dtype


def round_to_dtype(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Round to the nearest whole number (ties to even) within int8, or within int4 (eight in an int32). NaN is 0."""
    largest = LARGEST[dtype]
    whole = values.nan_to_num(0.0, torch.inf, -torch.inf).round().clamp(-1 - largest, largest).to(torch.int8)
    return pack_int4(whole) if dtype == INT4 else whole


def pack_int4(values: Tensor) -> Tensor:
    """Pack (..., n) whole numbers of int4 as (..., n / 8) int32, the first in the lowest bits."""
    if values.shape[-1] % 8:
        raise RuntimeError(f"the last dimension must be divisible by 8 for int4, but got {values.shape[-1]}")
    nibbles = (values.to(torch.int64) & 15).unflatten(-1, (-1, 8))
    word = (nibbles << torch.arange(0, 32, 4)).sum(-1)
    return torch.where(word >= 2**31, word - 2**32, word).to(torch.int32)


def unpack_int4(words: Tensor, dim: int = -1) -> Tensor:
    """Return the int4 of packed int32 as int8, along the dimension that they are packed in."""
    last = words.movedim(dim, -1)
    nibbles = (last.unsqueeze(-1) >> torch.arange(0, 32, 4, dtype=torch.int32)) & 15
    return ((nibbles ^ 8) - 8).to(torch.int8).flatten(-2).movedim(-1, dim)


def unpacked_matrix(words: Tensor) -> Tensor:
    """Unpack a weight along its last dimension, or along the one before where it is a transposed view."""
    rows, columns = words.shape[-2:]
    transposed = words.stride(-2) == 1 and words.stride(-1) == rows and not rows == columns == 1
    return unpack_int4(words, -2 if transposed else -1)


def packed_scale(scale: Tensor, offset: Tensor | None = None, nearest: bool = False) -> Tensor:
    """Return float32 as int64: 19 bits of the scale, bit 46 set, and from bit 37 the offset as 9 bits."""
    bits = scale.contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    if nearest:
        exponent = (bits >> 23) & 255
        to_even = bits + 0xFFF + ((bits >> 13) & 1)
        bits = torch.where(exponent == 255, bits, torch.where(exponent == 0, bits & 0x80000000, to_even))
    out = (bits & 0xFFFFE000) | (1 << 46)
    if offset is None:
        return out
    whole = offset.round().clamp(-256, 255).to(torch.int64)
    return out | ((whole & 0x1FF) << 37)


def scale_of(packed_scales: Tensor) -> Tensor:
    """Return the float32 in the low half of packed scales; other dtypes in float32 as they are."""
    if packed_scales.dtype != torch.int64:
        return packed_scales.float()
    low = packed_scales & 0xFFFFFFFF
    return torch.where(low >= 2**31, low - 2**32, low).to(torch.int32).view(torch.float32)


def offset_of(packed_scales: Tensor) -> Tensor:
    """Return the offset of packed scales, in float32."""
    return ((((packed_scales >> 37) & 0x1FF) ^ 0x100) - 0x100).float()


def kept_offset(packed_scales: Tensor, offset: Tensor | None, name: str) -> Tensor:
    """Return the offset within the packed scales; one given besides to the operator `name` has to be the same."""
    inside = offset_of(packed_scales)
    if offset is not None and not bool((offset.round().clamp(-256, 255) == inside).all()):
        raise NotImplementedError(f"the NPU simulator lacks {name} with an offset other than that in the int64 scale")
    return inside


def with_bias(total: Tensor, bias: Tensor | None) -> Tensor:
    """Add whole numbers and an int32 bias without rounding: float32 with int32 would be float32."""
    return total if bias is None else total.double() + bias


def whole_product(first: Tensor, second: Tensor) -> Tensor:
    """Return first @ second of whole numbers, unrounded: in float32 where that holds every sum, else in float64."""
    largest = [float(factor.abs().amax()) if factor.numel() else 0.0 for factor in (first.float(), second.float())]
    dtype = torch.float32 if first.shape[-1] * largest[0] * largest[1] <= 2**24 else torch.float64
    return first.to(dtype) @ second.to(dtype)


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
@takes("Tensor input, Tensor scales, Tensor? zero_points, int dtype, int axis=1, bool div_mode=True")
def npu_quantize(call: Arguments) -> Tensor:
    """round(input / scales + zero_points), or with * where div_mode is False; int4 is eight in an int32."""
    where = "npu_quantize: dtype"
    if call.div_mode:
        kind = asked_dtype(call.dtype, torch.qint8, [*PLAIN, *PLAIN.values()], where)
        _check_division(call.input, call.scales, call.zero_points)
        return quantise_by_scales(call.input, call.scales, call.zero_points, PLAIN.get(kind, kind), call.axis)
    kind = asked_dtype(call.dtype, torch.qint8, (torch.qint8, torch.int8, INT4), where + " with div_mode False")
    if call.input.dtype != call.scales.dtype or (
        call.zero_points is not None and call.zero_points.dtype != call.input.dtype
    ):
        raise RuntimeError(
            f"npu_quantize: scales and zero_points should be {call.input.dtype} like input, div_mode False"
        )
    place = -2 if call.axis < -1 else -1
    values = as_wide(call.input) * along_axis(call.scales, call.input, place)
    if call.zero_points is not None:
        values = values + along_axis(call.zero_points, call.input, place)
    return round_to_dtype(values, PLAIN.get(kind, kind))


def rows_of_groups(ends: Sequence[int], rows: int, where: str) -> Tensor:
    """Return the group of each row, from the cumulative ends; rows beyond the last have the number of groups."""
    if any(a > b for a, b in zip([0, *ends], [*ends, rows])):
        raise RuntimeError(f"{where} should be non-decreasing, from 0 to at most {rows} rows, but got {list(ends)}")
    return torch.searchsorted(torch.tensor(list(ends)), torch.arange(rows), right=True)


@reference("npu::npu_group_quant", dtypes={"x": FLOATS, "scale": FLOATS, "group_index": INDICES, "offset": FLOATS})
@takes("Tensor x, Tensor scale, Tensor group_index, *, Tensor? offset=None, int? dst_dtype=None")
def npu_group_quant(call: Arguments) -> Tensor:
    """round(x * scale of the row's group + offset); group_index holds the rows up to each group's end."""
    kind = asked_dtype(call.dst_dtype, torch.int8, (torch.int8, torch.qint8, INT4), "npu_group_quant: dst_dtype")
    ends = call.group_index.tolist()
    if len(ends) != call.scale.shape[0] or not ends or ends[-1] != call.x.shape[0]:
        raise RuntimeError("npu_group_quant: group_index should have one entry per row of scale and end at x.shape[0]")
    if call.offset is not None and (call.offset.dtype != call.scale.dtype or call.offset.numel() != 1):
        raise RuntimeError("npu_group_quant: offset should be one value with the dtype of scale")
    values = (
        as_wide(call.x) * as_wide(call.scale)[rows_of_groups(ends, call.x.shape[0], "npu_group_quant: group_index")]
    )
    values = values if call.offset is None else values + as_wide(call.offset)
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
    """Return (whole numbers, scales): each row over its largest magnitude / 127, or / 7 for int4; zeros stay so."""
    scale = values.abs().amax(-1) / LARGEST[dtype]
    return round_to_dtype(values / scale.unsqueeze(-1), dtype), scale


def _smooth_per_token(
    name: str,
    input: Tensor,
    smooth_scales: Tensor | None,
    group_index: Tensor | None,
    dst_type: torch.dtype | int | None,
    quant_mode: str,
    dst_type_max: float,
) -> tuple[Tensor, torch.dtype]:
    """Return (the smoothed rows, the dtype to give them)."""
    if input.dim() < 2:
        raise RuntimeError(f"{name}: Input shape dim should be greater than 1")
    if quant_mode != "pertoken":
        raise NotImplementedError(f"the NPU simulator lacks {name} with quant_mode {quant_mode}, as an Ascend A2 does")
    if dst_type_max != 0:
        raise NotImplementedError(f"the NPU simulator lacks {name} with dst_type_max, as an Ascend A2 does")
    kind = asked_dtype(dst_type, torch.int8, (torch.int8, INT4), f"{name}: dst_type")
    return smooth_rows(name, input, smooth_scales, group_index), kind


DYNAMIC = {"input": HALVES, "smooth_scales": HALVES, "group_index": (torch.int32,)}


@reference("npu::npu_dynamic_quant", dtypes=DYNAMIC)
@takes(
    "Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, int? dst_type=None, "
    'str quant_mode="pertoken", float dst_type_max=0.0'
)
def npu_dynamic_quant(call: Arguments) -> tuple[Tensor, Tensor]:
    """(x / scale, scale = largest magnitude of the row / 127)."""
    return by_largest(*_smooth_per_token("npu_dynamic_quant", **vars(call)))


@reference("npu::npu_dynamic_quant_asymmetric", dtypes=DYNAMIC)
@derived_from(npu_dynamic_quant)
def npu_dynamic_quant_asymmetric(**arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    """(x / scale + offset, scale = (max - min) / 255, offset = 127 - max / scale), row by row."""
    values, kind = _smooth_per_token("npu_dynamic_quant_asymmetric", **arguments)
    top = LARGEST[kind]
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


@reference(
    "npu::npu_anti_quant",
    dtypes={"x": (torch.int8, torch.int32), "scale": (torch.float32, torch.bfloat16), "offset": FLOATS},
)
@takes("Tensor x, Tensor scale, *, Tensor? offset=None, int? dst_dtype=None, int? src_dtype=None")
def npu_anti_quant(call: Arguments) -> Tensor:
    """(x + offset) * scale; an int32 is eight int4."""
    result = asked_dtype(call.dst_dtype, torch.float16, HALVES, "npu_anti_quant: dst_dtype")
    stored = INT4 if call.x.dtype == torch.int32 else torch.int8
    asked_dtype(call.src_dtype, stored, (stored,), f"npu_anti_quant: src_dtype for x of {call.x.dtype}")
    if call.offset is not None and (call.offset.dtype != call.scale.dtype or call.offset.shape != call.scale.shape):
        raise RuntimeError("npu_anti_quant: offset should have the dtype and the shape of scale")
    values = (unpack_int4(call.x) if call.x.dtype == torch.int32 else call.x).float()
    values = values if call.offset is None else values + along_axis(call.offset, values, -1)
    return (values * along_axis(call.scale, values, -1)).to(result)


@reference(
    "npu::npu_dequant_bias",
    dtypes={
        "x": (torch.int32,),
        "weight_scale": (torch.float32, torch.bfloat16),
        "activation_scale": (torch.float32,),
        "bias": (*FLOATS, torch.int32),
    },
)
@takes("Tensor x, Tensor weight_scale, Tensor? activation_scale, Tensor? bias, *, int? output_dtype=None")
def npu_dequant_bias(call: Arguments) -> Tensor:
    """x * weight_scale * activation_scale, with an int32 bias added before and any other after."""
    result = torch.float16 if call.weight_scale.dtype == torch.float32 else torch.bfloat16
    where = f"npu_dequant_bias: output_dtype for weight_scale of {call.weight_scale.dtype}"
    asked_dtype(call.output_dtype, torch.float16, (result,), where)
    whole = call.bias is not None and call.bias.dtype == torch.int32
    values = (
        call.x.long() + call.bias if call.bias is not None and whole else call.x
    ).float() * call.weight_scale.float()
    if call.activation_scale is not None:
        values = values * call.activation_scale[:, None]
    return (values if call.bias is None or whole else values + as_wide(call.bias)).to(result)
