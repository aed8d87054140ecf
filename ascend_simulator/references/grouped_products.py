"""The product of one group of a grouped product, in every precision that an Ascend A2 takes.

Formulas: npu_grouped_matmul.md (registry.DOCUMENTS); int8 with int4: https://gitcode.com/cann/ops-transformer,
gmm/grouped_matmul/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .low_bits import offset_of, round_to_dtype, scale_of, unpack_int4, unpacked_matrix, whole_product, with_bias
from .numeric import as_wide
from .registry import HALVES
from .weight_only_products import BIASES, by_rows, dequantise

NAME = "npu_grouped_matmul"


@dataclass(frozen=True)
class Group:
    """One group: its rows of x, its weight (K, N), and what else there is for it."""

    x: Tensor
    weight: Tensor
    bias: Tensor | None = None
    scale: Tensor | None = None
    token: Tensor | None = None
    antiquant_scale: Tensor | None = None
    antiquant_offset: Tensor | None = None


def refuse_if(condition: bool, text: str, name: str = NAME) -> None:
    if condition:
        raise RuntimeError(f"{name}: {text} ({name}.md)")


def compute_product(group: Group, asked: torch.dtype | None) -> tuple[Tensor, torch.dtype]:
    """Return (the product in float32 or wider, the dtype to give it)."""
    x, weight = group.x, group.weight
    quantised, weight_only = group.scale is not None, group.antiquant_scale is not None
    pair = f"x of {x.dtype} and weight of {weight.dtype}"
    _check_bias(group)
    if x.dtype == torch.int8:
        refuse_if(not quantised or weight_only, f"{pair} need scale, and no antiquant_scale")
        return _product_int8(group, asked) if weight.dtype == torch.int8 else _int8_with_int4(group, asked)
    if x.dtype == torch.int32:
        return _product_int4(group, asked)
    refuse_if(quantised or group.token is not None, f"{pair} take no scale and no per_token_scale")
    if weight.dtype == x.dtype:
        refuse_if(weight_only or asked not in (None, x.dtype), f"{pair} take no antiquant_scale and give {x.dtype}")
        return _add_bias(as_wide(x) @ as_wide(weight), group.bias), x.dtype
    refuse_if(x.dtype not in HALVES or weight.dtype not in (torch.int8, torch.int32), f"{pair} do not go together")
    refuse_if(
        not weight_only or asked not in (None, x.dtype), f"{pair} need antiquant_scale, and a result of {x.dtype}"
    )
    return _weight_only(group), x.dtype


def _check_bias(group: Group) -> None:
    """Check that the bias has the one dtype for each dtype of x; int8 with int4 has a float32 bias, int4 none."""
    if group.bias is None or group.x.dtype == torch.int32:
        return
    assisted = (group.x.dtype, group.weight.dtype) == (torch.int8, torch.int32)
    expected = torch.float32 if assisted else BIASES[group.x.dtype]
    refuse_if(group.bias.dtype != expected, f"bias of {group.bias.dtype} with x of {group.x.dtype}, not {expected}")


def _add_bias(values: Tensor, bias: Tensor | None) -> Tensor:
    return values if bias is None else values + as_wide(bias)


def _product_int8(group: Group, asked: torch.dtype | None) -> tuple[Tensor, torch.dtype]:
    scale, bias, token = group.scale, group.bias, group.token
    assert scale is not None
    result = asked or torch.int8
    expected = {torch.int8: torch.int64, torch.float16: torch.float32, torch.bfloat16: torch.bfloat16}.get(result)
    refuse_if(scale.dtype != expected, f"scale of {scale.dtype} for a result of {result}")
    refuse_if(token is not None and result == torch.int8, "per_token_scale for a result of int8")
    values = with_bias(whole_product(group.x, group.weight), bias).float() * scale_of(scale)
    values = values if token is None else values * token.reshape(-1, 1)
    if result == torch.int8:
        return round_to_dtype(values.round() + offset_of(scale), torch.int8).float(), result
    return values, result


def scaled_by_groups(x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """Return x @ (weight * scale) of whole numbers; `scale` is (N,), or has a row for each of equal groups of rows."""
    rows = torch.atleast_2d(scale)
    refuse_if(
        weight.shape[0] % rows.shape[0] != 0, f"{rows.shape[0]} rows of scale for {weight.shape[0]} of the weight"
    )
    size = weight.shape[0] // rows.shape[0]
    parts = zip(x.split(size, 1), weight.split(size), rows)
    return torch.stack([whole_product(a, b).float() * row for a, b, row in parts]).sum(0)


def _int8_with_int4(group: Group, asked: torch.dtype | None) -> tuple[Tensor, torch.dtype]:
    """Return ((x - 8) @ (weight * scale) + bias) * scale per token: the bias gives back what the 8 took."""
    scale, bias, token = group.scale, group.bias, group.token
    assert scale is not None
    refuse_if(
        scale.dtype != torch.int64 or bias is None or token is None, "int4 weights need int64 scale, bias and token"
    )
    refuse_if(asked not in HALVES, "int8 with int4 gives float16 or bfloat16")
    assert bias is not None and token is not None and asked is not None
    values = scaled_by_groups(group.x.to(torch.int16) - 8, unpacked_matrix(group.weight), scale_of(scale))
    return (values + bias.float()) * token.reshape(-1, 1), asked


def _product_int4(group: Group, asked: torch.dtype | None) -> tuple[Tensor, torch.dtype]:
    scale, pair = group.scale, (group.weight.dtype, group.bias, group.antiquant_scale)
    refuse_if(pair != (torch.int32, None, None) or scale is None, "int4 x needs int4 weight, scale, and no bias")
    assert scale is not None
    refuse_if(
        scale.dtype != torch.int64 or asked not in HALVES, "int4 needs int64 scale, and gives float16 or bfloat16"
    )
    assert asked is not None
    values = scaled_by_groups(unpack_int4(group.x), unpacked_matrix(group.weight), scale_of(scale))
    return (values if group.token is None else values * group.token.reshape(-1, 1)), asked


def _weight_only(group: Group) -> Tensor:
    weight = unpacked_matrix(group.weight) if group.weight.dtype == torch.int32 else group.weight
    scale, offset = group.antiquant_scale, group.antiquant_offset
    assert scale is not None
    refuse_if(scale.dtype != group.x.dtype, f"antiquant_scale of {scale.dtype} with x of {group.x.dtype}")
    refuse_if(
        offset is None or offset.shape != scale.shape, "antiquant_offset should have the shape of antiquant_scale"
    )
    assert offset is not None
    if scale.dim() == 2:
        refuse_if(
            group.weight.dtype != torch.int32 or bool(weight.shape[0] % scale.shape[0]), "groups of rows of weight"
        )
        size = weight.shape[0] // scale.shape[0]
        scale, offset = by_rows(scale, weight, size), by_rows(offset, weight, size)
    return _add_bias(group.x.float() @ dequantise(weight, scale, offset).float(), group.bias)
