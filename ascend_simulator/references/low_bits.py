"""Whole numbers of few bits as the NPU's quantised operators store them: int8, eight int4 in an int32, packed scales.

Layouts: npu_trans_quant_param.md, npu_convert_weight_to_int4pack.md (registry.DOCUMENTS).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

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
    """Round to the nearest whole number (ties to even) in the range of int8, or of int4 (eight in an int32). NaN is 0.
    NaN is 0.
    """
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
    return unpack_int4(words, -2 if is_transposed(words) else -1)


def is_transposed(matrix: Tensor) -> bool:
    """Whether the last two dimensions are those of a contiguous matrix, exchanged."""
    rows, columns = matrix.shape[-2:]
    return matrix.stride(-2) == 1 and matrix.stride(-1) == rows and not rows == columns == 1


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
