"""Operators of aten that have kernels for the NPU and for CUDA, and none for the CPU.

Products with a wider result (`torch.mm(..., out_dtype=)`), the gradient of matmul in one, depthwise convolution and
the masked scale of dropout; formulas from torch's documentation and native_functions.yaml.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide, compute_gradients
from .registry import FLOATS, reference


@reference("aten::mm.dtype", dtypes={"self": FLOATS})
def mm(self: Tensor, mat2: Tensor, out_dtype: torch.dtype) -> Tensor:
    return (as_wide(self) @ as_wide(mat2)).to(out_dtype)


@reference("aten::mm.dtype_out", dtypes={"self": FLOATS}, writes=("out",))
def mm_out(self: Tensor, mat2: Tensor, out_dtype: torch.dtype) -> Tensor:
    return mm(self, mat2, out_dtype)


@reference("aten::bmm.dtype", dtypes={"self": FLOATS})
def bmm(self: Tensor, mat2: Tensor, out_dtype: torch.dtype) -> Tensor:
    return torch.bmm(as_wide(self), as_wide(mat2)).to(out_dtype)


@reference("aten::bmm.dtype_out", dtypes={"self": FLOATS}, writes=("out",))
def bmm_out(self: Tensor, mat2: Tensor, out_dtype: torch.dtype) -> Tensor:
    return bmm(self, mat2, out_dtype)


@reference("aten::addmm.dtype", dtypes={"mat1": FLOATS})
def addmm(
    self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return torch.addmm(as_wide(self), as_wide(mat1), as_wide(mat2), beta=beta, alpha=alpha).to(out_dtype)


@reference("aten::addmm.dtype_out", dtypes={"mat1": FLOATS}, writes=("out",))
def addmm_out(
    self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return addmm(self, mat1, mat2, out_dtype, beta=beta, alpha=alpha)


@reference("aten::baddbmm.dtype", dtypes={"batch1": FLOATS})
def baddbmm(
    self: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return torch.baddbmm(as_wide(self), as_wide(batch1), as_wide(batch2), beta=beta, alpha=alpha).to(out_dtype)


@reference("aten::baddbmm.dtype_out", dtypes={"batch1": FLOATS}, writes=("out",))
def baddbmm_out(
    self: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return baddbmm(self, batch1, batch2, out_dtype, beta=beta, alpha=alpha)


@reference("aten::matmul_backward")
def matmul_backward(
    grad: Tensor, self: Tensor, other: Tensor, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    left, right = compute_gradients(torch.matmul, (self, other), (grad,))
    return left if mask[0] else None, right if mask[1] else None


@reference("aten::_conv_depthwise2d", dtypes={"self": FLOATS, "weight": FLOATS})
def conv_depthwise2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Sequence[int],
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    wide_bias = None if bias is None else as_wide(bias)
    places = list(stride), list(padding), list(dilation)
    return torch.conv2d(as_wide(self), as_wide(weight), wide_bias, *places, self.size(1)).to(self.dtype)


@reference("aten::_masked_scale", dtypes={"self": FLOATS})
def masked_scale(self: Tensor, mask: Tensor, scale: float) -> Tensor:
    return (as_wide(self) * mask.to(as_wide(self).dtype) * scale).to(self.dtype)
