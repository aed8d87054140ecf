"""int8, int4 and int32 to half precision. Formulas: npu_anti_quant.md (registry.DOCUMENTS), aclnnDequantBias.md
(https://gitcode.com/cann/ops-nn).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .low_bits import INT4, asked_dtype, unpack_int4
from .numeric import as_wide
from .quantisation import along_axis
from .registry import FLOATS, HALVES, reference


@reference(
    "npu::npu_anti_quant",
    dtypes={"x": (torch.int8, torch.int32), "scale": (torch.float32, torch.bfloat16), "offset": FLOATS},
)
def npu_anti_quant(
    x: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    dst_dtype: torch.dtype | int | None = None,
    src_dtype: torch.dtype | int | None = None,
) -> Tensor:
    """(x + offset) * scale; an int32 is eight int4."""
    result = asked_dtype(dst_dtype, torch.float16, HALVES, "npu_anti_quant: dst_dtype")
    stored = INT4 if x.dtype == torch.int32 else torch.int8
    asked_dtype(src_dtype, stored, (stored,), f"npu_anti_quant: src_dtype for x of {x.dtype}")
    if offset is not None and (offset.dtype != scale.dtype or offset.shape != scale.shape):
        raise RuntimeError("npu_anti_quant: offset should have the dtype and the shape of scale")
    values = (unpack_int4(x) if x.dtype == torch.int32 else x).float()
    values = values if offset is None else values + along_axis(offset, values, -1)
    return (values * along_axis(scale, values, -1)).to(result)


@reference(
    "npu::npu_dequant_bias",
    dtypes={
        "x": (torch.int32,),
        "weight_scale": (torch.float32, torch.bfloat16),
        "activation_scale": (torch.float32,),
        "bias": (*FLOATS, torch.int32),
    },
)
def npu_dequant_bias(
    x: Tensor,
    weight_scale: Tensor,
    activation_scale: Tensor | None,
    bias: Tensor | None,
    *,
    output_dtype: torch.dtype | int | None = None,
) -> Tensor:
    """x * weight_scale * activation_scale, with an int32 bias added before and any other after."""
    result = torch.float16 if weight_scale.dtype == torch.float32 else torch.bfloat16
    where = f"npu_dequant_bias: output_dtype for weight_scale of {weight_scale.dtype}"
    asked_dtype(output_dtype, torch.float16, (result,), where)
    whole = bias is not None and bias.dtype == torch.int32
    values = (x.long() + bias if bias is not None and whole else x).float() * weight_scale.float()
    if activation_scale is not None:
        values = values * activation_scale[:, None]
    return (values if bias is None or whole else values + as_wide(bias)).to(result)
