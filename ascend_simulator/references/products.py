"""Matrix products. Formulas: npu_linear.md, npu_bmmV2.md, npu_fused_matmul, npu_transpose_batchmatmul.md.

Operators of aten that have kernels for the NPU and for CUDA, and none for the CPU.

Products with a wider result (`torch.mm(..., out_dtype=)`), the gradient of matmul in one, depthwise convolution and
the masked scale of dropout; formulas from torch's documentation and native_functions.yaml.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide, compute_gradients, wide_or_none
from .registry import FLOATS, Arguments, reference, takes

PRODUCTS = (*FLOATS, torch.int32)


@reference("npu::npu_linear", dtypes={"input": FLOATS, "weight": FLOATS})
def npu_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight^T + bias, of matrices."""
    if input.dim() != 2 or weight.dim() != 2:
        raise RuntimeError("npu_linear takes matrices: input and weight must be two-dimensional")
    return functional.linear(as_wide(input), as_wide(weight), wide_or_none(bias)).to(input.dtype)


@reference("npu::npu_linear_backward", dtypes={"grad": FLOATS, "input": FLOATS, "weight": FLOATS})
def npu_linear_backward(grad: Tensor, input: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """(dinput, dweight)."""
    gradient = as_wide(grad)
    return (gradient @ as_wide(weight)).to(input.dtype), (gradient.t() @ as_wide(input)).to(weight.dtype)


def _compute_product(first: Tensor, second: Tensor, size: Sequence[int]) -> Tensor:
    """Return first @ second with broadcasting, summed or reshaped to `size` where one is given."""
    result = (as_wide(first) @ as_wide(second)).to(first.dtype)
    if not size or list(result.shape) == list(size):
        return result
    if result.numel() == torch.Size(size).numel():
        return result.reshape(list(size))
    return as_wide(result).sum_to_size(list(size)).to(first.dtype)


@reference("npu::npu_bmmV2", dtypes={"input": PRODUCTS, "mat2": PRODUCTS})
def npu_bmmV2(input: Tensor, mat2: Tensor, output_sizes: Sequence[int]) -> Tensor:
    return _compute_product(input, mat2, output_sizes)


@reference("npu::npu_bmm_v2_mat1_backward", dtypes={"grad": FLOATS, "mat2": FLOATS})
def npu_bmm_v2_mat1_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, size: Sequence[int]) -> Tensor:
    if mat1.dim() == 1 or mat2.dim() == 1:
        raise NotImplementedError("the NPU simulator lacks the gradient of npu_bmmV2 with vectors")
    return _compute_product(grad, mat2.transpose(-1, -2), size)


@reference("npu::npu_bmm_v2_mat2_backward", dtypes={"grad": FLOATS, "mat1": FLOATS})
def npu_bmm_v2_mat2_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, size: Sequence[int]) -> Tensor:
    if mat1.dim() == 1 or mat2.dim() == 1:
        raise NotImplementedError("the NPU simulator lacks the gradient of npu_bmmV2 with vectors")
    return _compute_product(mat1.transpose(-1, -2), grad, size)


@reference("npu::npu_fused_matmul", dtypes={"x1": FLOATS, "x2": FLOATS})
def npu_fused_matmul(
    x1: Tensor, x2: Tensor, *, bias: Tensor | None = None, x3: Tensor | None = None, fused_op_type: str = ""
) -> Tensor:
    """x1 @ x2 + bias, then "add" or "mul" with x3, or "gelu_erf" or "gelu_tanh"."""
    result = as_wide(x1) @ as_wide(x2)
    result = result if bias is None else result + as_wide(bias)
    if fused_op_type in ("add", "mul"):
        if x3 is None:
            raise RuntimeError(f"npu_fused_matmul with fused_op_type {fused_op_type} needs x3")
        result = result + as_wide(x3) if fused_op_type == "add" else result * as_wide(x3)
    elif fused_op_type in ("gelu_erf", "gelu_tanh"):
        result = functional.gelu(result, approximate="tanh" if fused_op_type == "gelu_tanh" else "none")
    elif fused_op_type not in ("", "16cast32", "relu"):
        raise RuntimeError(f"npu_fused_matmul does not know the fused_op_type {fused_op_type}")
    if fused_op_type == "relu":
        result = result.relu()
    return result.to(torch.float32 if fused_op_type == "16cast32" else x1.dtype)


@reference("npu::npu_transpose_batchmatmul", dtypes={"input": FLOATS, "weight": FLOATS})
@takes(
    "Tensor input, Tensor weight, *, Tensor? bias=None, Tensor? scale=None, int[]? perm_x1=None, int[]? perm_x2=None, "
    "int[]? perm_y=None, int? batch_split_factor=1"
)
def npu_transpose_batchmatmul(call: Arguments) -> Tensor:
    """permute(permute(input) @ permute(weight)); with a split factor f of shape (f, M, batch * N / f)."""
    if call.bias is not None or call.scale is not None:
        raise NotImplementedError("the NPU simulator lacks npu_transpose_batchmatmul with bias or scale")
    first, second = list(call.perm_x1 or (0, 1, 2)), list(call.perm_x2 or (0, 1, 2))
    if first not in ([0, 1, 2], [1, 0, 2]):
        raise RuntimeError("perm_x1 should be [0, 1, 2] or [1, 0, 2]")
    if second not in ([0, 1, 2], [0, 2, 1]):
        raise RuntimeError("perm_x2 should be [0, 1, 2] or [0, 2, 1]")
    if list(call.perm_y or (1, 0, 2)) != [1, 0, 2]:
        raise RuntimeError("perm_y should be [1, 0, 2]")
    result = as_wide(call.input).permute(first) @ as_wide(call.weight).permute(second)
    result = result.permute(1, 0, 2).to(call.input.dtype)
    factor = call.batch_split_factor or 1
    return result if factor == 1 else result.reshape(result.shape[0], factor, -1).transpose(0, 1)


@reference("aten::mm.dtype", dtypes={"self": FLOATS})
@reference("aten::mm.dtype_out", dtypes={"self": FLOATS}, writes=("out",))
def mm(self: Tensor, mat2: Tensor, out_dtype: torch.dtype) -> Tensor:
    return (as_wide(self) @ as_wide(mat2)).to(out_dtype)


@reference("aten::bmm.dtype", dtypes={"self": FLOATS})
@reference("aten::bmm.dtype_out", dtypes={"self": FLOATS}, writes=("out",))
def bmm(self: Tensor, mat2: Tensor, out_dtype: torch.dtype) -> Tensor:
    return torch.bmm(as_wide(self), as_wide(mat2)).to(out_dtype)


@reference("aten::addmm.dtype", dtypes={"mat1": FLOATS})
@reference("aten::addmm.dtype_out", dtypes={"mat1": FLOATS}, writes=("out",))
def addmm(
    self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return torch.addmm(as_wide(self), as_wide(mat1), as_wide(mat2), beta=beta, alpha=alpha).to(out_dtype)


@reference("aten::baddbmm.dtype", dtypes={"batch1": FLOATS})
@reference("aten::baddbmm.dtype_out", dtypes={"batch1": FLOATS}, writes=("out",))
def baddbmm(
    self: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    return torch.baddbmm(as_wide(self), as_wide(batch1), as_wide(batch2), beta=beta, alpha=alpha).to(out_dtype)


@reference("aten::matmul_backward")
def matmul_backward(
    grad: Tensor, self: Tensor, other: Tensor, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    left, right = compute_gradients(torch.matmul, (self, other), (grad,))
    return left if mask[0] else None, right if mask[1] else None


@reference("aten::_conv_depthwise2d", dtypes={"self": FLOATS, "weight": FLOATS})
@takes("Tensor self, Tensor weight, int[] kernel_size, Tensor? bias, int[] stride, int[] padding, int[] dilation")
def conv_depthwise2d(call: Arguments) -> Tensor:
    wide_bias = None if call.bias is None else as_wide(call.bias)
    places = list(call.stride), list(call.padding), list(call.dilation)
    return torch.conv2d(as_wide(call.self), as_wide(call.weight), wide_bias, *places, call.self.size(1)).to(
        call.self.dtype
    )


@reference("aten::_masked_scale", dtypes={"self": FLOATS})
def masked_scale(self: Tensor, mask: Tensor, scale: float) -> Tensor:
    return (as_wide(self) * mask.to(as_wide(self).dtype) * scale).to(self.dtype)
