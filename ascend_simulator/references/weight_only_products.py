"""Products with a quantised weight. Formulas: npu_weight_quant_batchmatmul.md, npu_convert_weight_to_int4pack.md
(registry.DOCUMENTS).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .low_bits import kept_offset, pack_int4, packed_scale, round_to_dtype, scale_of, unpacked_matrix
from .numeric import as_wide
from .registry import HALVES, reference

NAME = "npu_weight_quant_batchmatmul"
#: The dtype of the bias by the dtype of x, here, in npu_grouped_matmul and in npu_ffn.
BIASES = {
    torch.float32: torch.float32,
    torch.float16: torch.float16,
    torch.bfloat16: torch.float32,
    torch.int8: torch.int32,
}


@reference("npu::npu_convert_weight_to_int4pack", dtypes={"weight": (torch.int32,)})
def npu_convert_weight_to_int4pack(weight: Tensor, inner_k_tiles: int = 0) -> Tensor:
    """Eight int4, from -8 to 7, in an int32, along the last dimension. `inner_k_tiles` is not used yet."""
    if weight.dim() != 2 or weight.shape[-1] % 8:
        raise RuntimeError("npu_convert_weight_to_int4pack: weight should be a matrix with columns divisible by 8")
    if bool(((weight < -8) | (weight > 7)).any()):
        raise RuntimeError("npu_convert_weight_to_int4pack: weight should hold values from -8 to 7")
    return pack_int4(weight)


def dequantise(weight: Tensor, scale: Tensor, offset: Tensor | None) -> Tensor:
    """Return (weight + offset) * scale as the matrix unit gets it, in the half precision of the scale.

    float16 is computed in float16, bfloat16 in float32 and rounded once.
    """
    if scale.dtype == torch.float16:
        moved = weight.to(torch.float16) if offset is None else weight.to(torch.float16) + offset
        return moved * scale
    moved = weight.float() if offset is None else weight.float() + offset.float()
    return (moved * scale.float()).to(scale.dtype)


def by_rows(values: Tensor, weight: Tensor, size: int) -> Tensor:
    """Return scales of groups of `size` rows, one row for each row of the weight."""
    return values.repeat_interleave(size, -2)[..., : weight.shape[-2], :]


@reference(
    "npu::npu_weight_quant_batchmatmul",
    dtypes={
        "x": HALVES,
        "weight": (torch.int8, torch.int32),
        "antiquant_scale": (*HALVES, torch.int64),
        "antiquant_offset": (*HALVES, torch.int32),
        "quant_scale": (torch.float32, torch.int64),
        "quant_offset": (torch.float32,),
        "bias": (torch.float16, torch.float32),
    },
)
def npu_weight_quant_batchmatmul(
    x: Tensor,
    weight: Tensor,
    antiquant_scale: Tensor,
    antiquant_offset: Tensor | None = None,
    quant_scale: Tensor | None = None,
    quant_offset: Tensor | None = None,
    bias: Tensor | None = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
) -> Tensor:
    """x @ ((weight + antiquant_offset) * antiquant_scale) + bias, then * quant_scale + quant_offset to int8."""
    if antiquant_scale.dtype == torch.int64:
        raise NotImplementedError(f"the NPU simulator lacks {NAME} with an int64 antiquant_scale")
    weight = unpacked_matrix(weight) if weight.dtype == torch.int32 else weight
    _check_weight_only(x, weight, antiquant_scale, antiquant_offset, bias, antiquant_group_size, inner_precise)
    scale, moved = antiquant_scale, antiquant_offset
    if antiquant_group_size and scale.dim() == 2 and scale.shape[0] > 1:
        scale = by_rows(scale, weight, antiquant_group_size)
        moved = None if moved is None else by_rows(moved, weight, antiquant_group_size)
    values = x.float() @ dequantise(weight, scale, moved).float()
    values = values if bias is None else values + as_wide(bias)
    if quant_scale is None:
        if quant_offset is not None:
            raise RuntimeError(f"{NAME}: quant_offset cannot exist in isolation from quant_scale")
        return values.to(x.dtype)
    packed_scales = quant_scale if quant_scale.dtype == torch.int64 else packed_scale(quant_scale, quant_offset)
    return round_to_dtype(
        (values * scale_of(packed_scales)).round() + kept_offset(packed_scales, quant_offset, NAME), torch.int8
    )


def _check_weight_only(
    x: Tensor, weight: Tensor, scale: Tensor, offset: Tensor | None, bias: Tensor | None, group: int, precise: int
) -> None:
    if x.dim() != 2 or weight.dim() != 2 or x.shape[1] != weight.shape[0]:
        raise RuntimeError(f"{NAME}: x {x.shape} and weight {weight.shape} should be matrices that fit")
    if scale.dtype != x.dtype or (offset is not None and (offset.dtype, offset.shape) != (scale.dtype, scale.shape)):
        raise RuntimeError(f"{NAME}: antiquant_scale and antiquant_offset should be alike, and of x's dtype")
    if bias is not None and bias.dtype != BIASES[x.dtype]:
        raise RuntimeError(f"{NAME}: bias of {bias.dtype} with x of {x.dtype}")
    inner, columns = weight.shape
    if precise not in (0, 1) or (group and not (32 <= group < inner and group % 32 == 0)):
        raise RuntimeError(f"{NAME}: inner_precise {precise} or antiquant_group_size {group}")
    shapes = [(1,), (1, 1), (columns,), (1, columns)] + ([(-(-inner // group), columns)] if group else [])
    if tuple(scale.shape) not in shapes:
        raise RuntimeError(f"{NAME}: antiquant_scale of the shape {tuple(scale.shape)}, not one of {shapes}")
