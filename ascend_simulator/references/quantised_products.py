"""Products of quantised matrices. Formulas: npu_quant_matmul.md (registry.DOCUMENTS), aclnnQuantMatmulV5.md
(https://gitcode.com/cann/ops-nn).

Products of whole numbers are exact, as on the NPU; the scale that leads to int8, or without one per token to float16,
has 19 bits there and here. Where int4 meets int8 the NPU multiplies (x - 8), and the offset gives the rest back.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .low_bits import (
    asked_dtype,
    kept_offset,
    packed_scale,
    round_to_dtype,
    scale_of,
    unpack_int4,
    unpacked_matrix,
    whole_product,
    with_bias,
)
from .numeric import as_wide
from .registry import FLOATS, HALVES, reference

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
def npu_quant_matmul(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    pertoken_scale: Tensor | None = None,
    bias: Tensor | None = None,
    output_dtype: torch.dtype | int | None = None,
    group_sizes: Sequence[int] | None = None,
) -> Tensor:
    """((x1 @ x2 + int32 bias) * scale * scale per token) + another bias, or + offset where the result is int8."""
    result = asked_dtype(output_dtype, torch.int8, RESULTS, f"{NAME}: output_dtype")
    _refuse_if(x1.dtype == torch.int32 and x2.dtype != torch.int32, "x2 should have the dtype of x1")
    groups = [size for size in group_sizes or [] if size not in (0, 1)]
    _refuse_if(bool(groups) and (groups != [GROUP] or scale.dim() != 2), f"group_sizes {group_sizes} with this scale")
    if x1.dtype == torch.int8 and x2.dtype == torch.int32:
        return _int8_with_int4(x1, unpacked_matrix(x2), scale, offset, pertoken_scale, bias, result)
    if x1.dtype == torch.int32:
        _refuse_if(result not in HALVES, "int4 matrices give float16 or bfloat16")
        x1, x2 = unpack_int4(x1), unpacked_matrix(x2)
        if scale.dim() == 2:
            return _int4_by_groups(x1, x2, scale, offset, pertoken_scale, bias, result)
    return _compute_product(x1, x2, scale, offset, pertoken_scale, bias, result)


def _compute_product(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    offset: Tensor | None,
    token: Tensor | None,
    bias: Tensor | None,
    result: torch.dtype,
) -> Tensor:
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
    packed_scales = scale if scale.dtype == torch.int64 else packed_scale(scale, offset)
    values = total.float() * scale_of(packed_scales)
    if result != torch.int8:
        return values.to(result)
    return round_to_dtype(values.round() + kept_offset(packed_scales, offset, NAME), torch.int8)


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


def _int8_with_int4(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    offset: Tensor | None,
    token: Tensor | None,
    bias: Tensor | None,
    result: torch.dtype,
) -> Tensor:
    _refuse_if(scale.dtype != torch.int64, "int8 with int4 needs an int64 scale, of npu_trans_quant_param")
    _refuse_if(offset is None or offset.shape != (x2.shape[-1],), "int8 with int4 needs an offset for each column")
    _refuse_if(token is None or bias is not None, "int8 with int4 needs pertoken_scale, and no bias")
    _refuse_if(result not in HALVES, "int8 with int4 gives float16 or bfloat16")
    assert offset is not None and token is not None
    values = _by_groups(x1.to(torch.int16) - 8, x2, torch.atleast_2d(scale_of(scale)))
    return ((values + offset.float()) * _per_token(token, x1)).to(result)


def _int4_by_groups(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    offset: Tensor | None,
    token: Tensor | None,
    bias: Tensor | None,
    result: torch.dtype,
) -> Tensor:
    """Return the product with x2 less its offsets, times the scale of its group of rows."""
    _refuse_if(offset is None or offset.shape != scale.shape, "a two-dimensional scale needs an offset of that shape")
    _refuse_if(token is None or bias is not None, "a two-dimensional scale needs pertoken_scale, and no bias")
    _refuse_if(scale.dtype != torch.float32, "a two-dimensional scale for int4 should be float32")
    assert offset is not None and token is not None
    moved = x2.float() - offset.float().repeat_interleave(GROUP, 0)[: x2.shape[0]]
    return (_by_groups(x1, moved, scale) * _per_token(token, x1)).to(result)
