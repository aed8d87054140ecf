"""Products with a quantised weight. Formulas: npu_weight_quant_batchmatmul.md, npu_convert_weight_to_int4pack.md
(registry.DOCUMENTS).

Products of quantised matrices. Formulas: npu_quant_matmul.md (registry.DOCUMENTS).

Products of whole numbers are exact, as on the NPU; the scale that leads to int8, or without one per token to float16,
has 19 bits there and here. Where int4 meets int8 the NPU multiplies (x - 8), and the offset gives the rest back.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide
from .quantisation import (
    asked_dtype,
    kept_offset,
    pack_int4,
    packed_scale,
    round_to_dtype,
    scale_of,
    unpack_int4,
    unpacked_matrix,
    whole_product,
    with_bias,
)
from .registry import FLOATS, HALVES, Arguments, reference, takes

WEIGHT_ONLY = "npu_weight_quant_batchmatmul"
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
@takes(
    "Tensor x, Tensor weight, Tensor antiquant_scale, Tensor? antiquant_offset=None, Tensor? quant_scale=None, "
    "Tensor? quant_offset=None, Tensor? bias=None, int antiquant_group_size=0, int inner_precise=0"
)
def npu_weight_quant_batchmatmul(call: Arguments) -> Tensor:
    """x @ ((weight + antiquant_offset) * antiquant_scale) + bias, then * quant_scale + quant_offset to int8."""
    if call.antiquant_scale.dtype == torch.int64:
        raise NotImplementedError(f"the NPU simulator lacks {WEIGHT_ONLY} with an int64 antiquant_scale")
    weight = unpacked_matrix(call.weight) if call.weight.dtype == torch.int32 else call.weight
    _check_weight_only(call, weight)
    scale, moved, size = call.antiquant_scale, call.antiquant_offset, call.antiquant_group_size
    if size and scale.dim() == 2 and scale.shape[0] > 1:
        scale, moved = by_rows(scale, weight, size), None if moved is None else by_rows(moved, weight, size)
    values = call.x.float() @ dequantise(weight, scale, moved).float()
    values = values if call.bias is None else values + as_wide(call.bias)
    if call.quant_scale is None and call.quant_offset is not None:
        raise RuntimeError(f"{WEIGHT_ONLY}: quant_offset cannot exist in isolation from quant_scale")
    if call.quant_scale is None:
        return values.to(call.x.dtype)
    return _quantise_result(values, call.quant_scale, call.quant_offset, WEIGHT_ONLY)


def _quantise_result(values: Tensor, scale: Tensor, offset: Tensor | None, name: str) -> Tensor:
    packed = scale if scale.dtype == torch.int64 else packed_scale(scale, offset)
    return round_to_dtype((values * scale_of(packed)).round() + kept_offset(packed, offset, name), torch.int8)


def _check_weight_only(call: Arguments, weight: Tensor) -> None:
    x, scale, offset, bias = call.x, call.antiquant_scale, call.antiquant_offset, call.bias
    group, precise = call.antiquant_group_size, call.inner_precise
    if x.dim() != 2 or weight.dim() != 2 or x.shape[1] != weight.shape[0]:
        raise RuntimeError(f"{WEIGHT_ONLY}: x {x.shape} and weight {weight.shape} should be matrices that fit")
    if scale.dtype != x.dtype or (offset is not None and (offset.dtype, offset.shape) != (scale.dtype, scale.shape)):
        raise RuntimeError(f"{WEIGHT_ONLY}: antiquant_scale and antiquant_offset should be alike, and of x's dtype")
    if bias is not None and bias.dtype != BIASES[x.dtype]:
        raise RuntimeError(f"{WEIGHT_ONLY}: bias of {bias.dtype} with x of {x.dtype}")
    inner, columns = weight.shape
    if precise not in (0, 1) or (group and not (32 <= group < inner and group % 32 == 0)):
        raise RuntimeError(f"{WEIGHT_ONLY}: inner_precise {precise} or antiquant_group_size {group}")
    shapes = [(1,), (1, 1), (columns,), (1, columns)] + ([(-(-inner // group), columns)] if group else [])
    if tuple(scale.shape) not in shapes:
        raise RuntimeError(f"{WEIGHT_ONLY}: antiquant_scale of the shape {tuple(scale.shape)}, not one of {shapes}")


NAME = "npu_quant_matmul"
GROUP = 256  # rows of x2 that share a scale
RESULTS = (torch.int8, torch.float16, torch.bfloat16, torch.int32)
#: Dtypes of the scale by result, without and with a scale per token (the page's second table).
SCALES = {
    (torch.int8, False): (torch.int64, torch.float32),
    (torch.float16, False): (torch.int64, torch.float32),
    (torch.bfloat16, False): (torch.float32, torch.bfloat16),
    (torch.int32, False): (torch.float32, torch.bfloat16),
    (torch.float16, True): (torch.float32,),
    (torch.bfloat16, True): (torch.float32, torch.bfloat16),
}
#: (scale, offset, scale per token, bias, dtype of the result)
Beside = tuple[Tensor, "Tensor | None", "Tensor | None", "Tensor | None", torch.dtype]


def _refuse_if(condition: bool, text: str) -> None:
    if condition:
        raise RuntimeError(f"{NAME}: {text} (npu_quant_matmul.md)")


@reference(
    "npu::npu_quant_matmul",
    dtypes={
        "x1": (torch.int8, torch.int32),
        "x2": (torch.int8, torch.int32),
        "scale": (torch.float32, torch.int64, torch.bfloat16),
        "offset": (torch.float32, torch.float16),
        "pertoken_scale": (torch.float32,),
        "bias": (*FLOATS, torch.int32),
    },
)
@takes(
    "Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None, Tensor? pertoken_scale=None, Tensor? bias=None, "
    "int? output_dtype=None, int[]? group_sizes=None"
)
def npu_quant_matmul(call: Arguments) -> Tensor:
    """((x1 @ x2 + int32 bias) * scale * scale per token) + another bias, or + offset where the result is int8."""
    result = asked_dtype(call.output_dtype, torch.int8, RESULTS, f"{NAME}: output_dtype")
    beside = (call.scale, call.offset, call.pertoken_scale, call.bias, result)
    _refuse_if(call.x1.dtype == torch.int32 and call.x2.dtype != torch.int32, "x2 should have the dtype of x1")
    groups = [size for size in call.group_sizes or [] if size not in (0, 1)]
    _refuse_if(
        bool(groups) and (groups != [GROUP] or call.scale.dim() != 2), f"group_sizes {call.group_sizes} with this scale"
    )
    if call.x1.dtype == torch.int8 and call.x2.dtype == torch.int32:
        return _int8_with_int4(call.x1, unpacked_matrix(call.x2), beside)
    if call.x1.dtype == torch.int32:
        _refuse_if(result not in HALVES, "int4 matrices give float16 or bfloat16")
        call.x1, call.x2 = unpack_int4(call.x1), unpacked_matrix(call.x2)
        if call.scale.dim() == 2:
            return _int4_by_groups(call.x1, call.x2, beside)
    return _compute_product(call.x1, call.x2, beside)


def _compute_product(x1: Tensor, x2: Tensor, beside: Beside) -> Tensor:
    scale, offset, token, bias, result = beside
    allowed = SCALES.get((result, token is not None), ())
    _refuse_if(scale.dtype not in allowed, f"scale of {scale.dtype} for a result of {result}")
    _refuse_if(scale.dim() != 1 or scale.numel() not in (1, x2.shape[-1]), f"scale of the shape {tuple(scale.shape)}")
    _refuse_if(offset is not None and result != torch.int8, f"offset for a result of {result}")
    late = bias is not None and bias.dtype != torch.int32
    _refuse_if(late and token is None and result != torch.bfloat16, f"bias that is not int32 for a result of {result}")
    total = whole_product(x1, x2)
    total = total if late else with_bias(total, bias)
    if result == torch.int32:
        return total.to(torch.int32)
    if result == torch.bfloat16 or token is not None:
        values = total.float() * scale.float()
        _refuse_if(token is not None and token.dim() != 1, "pertoken_scale should have one dimension")
        values = values if token is None else values * _per_token(token, x1)
        return (values if bias is None or not late else values + as_wide(bias)).to(result)
    if result != torch.int8:
        return (total.float() * scale_of(scale if scale.dtype == torch.int64 else packed_scale(scale, offset))).to(
            result
        )
    return _quantise_result(total.float(), scale, offset, NAME)


def _per_token(token: Tensor, x1: Tensor) -> Tensor:
    rows = x1.shape[-2]
    _refuse_if(token.shape not in ((rows,), (rows, 1)), f"pertoken_scale of the shape {tuple(token.shape)}")
    return token.reshape(rows, 1)


def _by_groups(x1: Tensor, x2: Tensor, scale: Tensor) -> Tensor:
    """Return the sum over groups of rows of x2 of (x1 @ x2) * scale; `scale` is (1, n) or has a row per group."""
    inner = x2.shape[0]
    size = inner if scale.shape[0] == 1 else GROUP
    _refuse_if(scale.shape != (-(-inner // size), x2.shape[1]), f"scale of the shape {tuple(scale.shape)}")
    parts = [whole_product(x1[:, i : i + size], x2[i : i + size]) for i in range(0, inner, size)]
    return torch.stack([part.float() * row for part, row in zip(parts, scale)]).sum(0)


def _int8_with_int4(x1: Tensor, x2: Tensor, beside: Beside) -> Tensor:
    scale, offset, token, bias, result = beside
    _refuse_if(scale.dtype != torch.int64, "int8 with int4 needs an int64 scale, of npu_trans_quant_param")
    _refuse_if(offset is None or offset.shape != (x2.shape[-1],), "int8 with int4 needs an offset for each column")
    _refuse_if(token is None or bias is not None, "int8 with int4 needs pertoken_scale, and no bias")
    _refuse_if(result not in HALVES, "int8 with int4 gives float16 or bfloat16")
    assert offset is not None and token is not None
    values = _by_groups(x1.to(torch.int16) - 8, x2, torch.atleast_2d(scale_of(scale)))
    return ((values + offset.float()) * _per_token(token, x1)).to(result)


def _int4_by_groups(x1: Tensor, x2: Tensor, beside: Beside) -> Tensor:
    """Return the product with x2 less its offsets, times the scale of its group of rows."""
    scale, offset, token, bias, result = beside
    _refuse_if(offset is None or offset.shape != scale.shape, "a two-dimensional scale needs an offset of that shape")
    _refuse_if(token is None or bias is not None, "a two-dimensional scale needs pertoken_scale, and no bias")
    _refuse_if(scale.dtype != torch.float32, "a two-dimensional scale for int4 should be float32")
    assert offset is not None and token is not None
    moved = x2.float() - offset.float().repeat_interleave(GROUP, 0)[: x2.shape[0]]
    return (_by_groups(x1, moved, scale) * _per_token(token, x1)).to(result)
