"""Activation functions. Formulas: torch_npu's npu_fast_gelu, npu_gelu, npu_silu, npu_mish (registry.DOCUMENTS)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide
from .registry import FLOATS, reference

FAST_GELU_SLOPE = 1.702


def _fast_gelu_gradient(grad: Tensor, x: Tensor) -> Tensor:
    gate = torch.sigmoid(FAST_GELU_SLOPE * as_wide(x))
    return (as_wide(grad) * gate * (1 + FAST_GELU_SLOPE * as_wide(x) * (1 - gate))).to(x.dtype)


@reference("npu::npu_fast_gelu", dtypes={"input": FLOATS})
def npu_fast_gelu(input: Tensor) -> Tensor:
    """x / (1 + exp(-1.702 x)): the formula of Atlas A2 and A3."""
    return (as_wide(input) * torch.sigmoid(FAST_GELU_SLOPE * as_wide(input))).to(input.dtype)


@reference("npu::fast_gelu", dtypes={"input": FLOATS})
def fast_gelu(input: Tensor) -> Tensor:
    return npu_fast_gelu(input)


@reference("npu::npu_fast_gelu_backward", dtypes={"grad": FLOATS, "input": FLOATS})
def npu_fast_gelu_backward(grad: Tensor, input: Tensor) -> Tensor:
    return _fast_gelu_gradient(grad, input)


@reference("npu::npu_gelu", dtypes={"input": FLOATS})
def npu_gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    return functional.gelu(as_wide(input), approximate=approximate).to(input.dtype)


@reference("npu::npu_gelu_backward", dtypes={"grad_output": FLOATS, "input": FLOATS})
def npu_gelu_backward(grad_output: Tensor, input: Tensor, *, approximate: str = "none") -> Tensor:
    grad = torch.ops.aten.gelu_backward(as_wide(grad_output), as_wide(input), approximate=approximate)
    return grad.to(input.dtype)


@reference("npu::npu_gelu_mul", dtypes={"input": FLOATS})
def npu_gelu_mul(input: Tensor, *, approximate: str = "none") -> Tensor:
    """gelu(first half of the last dimension) * second half."""
    first, second = as_wide(input).chunk(2, -1)
    return (functional.gelu(first, approximate=approximate) * second).to(input.dtype)


@reference("npu::npu_silu", dtypes={"input": FLOATS})
def npu_silu(input: Tensor) -> Tensor:
    return functional.silu(as_wide(input)).to(input.dtype)


@reference("npu::npu_silu_", dtypes={"input": FLOATS}, writes=("input",))
def npu_silu_(input: Tensor) -> Tensor:
    return npu_silu(input)


@reference("npu::npu_silu_backward", dtypes={"grad_output": FLOATS, "x0": FLOATS})
def npu_silu_backward(grad_output: Tensor, x0: Tensor, x1: Tensor) -> Tensor:
    """x0 is the input, x1 the result (not needed)."""
    gate = torch.sigmoid(as_wide(x0))
    return (as_wide(grad_output) * gate * (1 + as_wide(x0) * (1 - gate))).to(x0.dtype)


@reference("npu::npu_mish", dtypes={"input": FLOATS})
def npu_mish(input: Tensor) -> Tensor:
    return functional.mish(as_wide(input)).to(input.dtype)


@reference("npu::npu_mish_backward", dtypes={"grad": FLOATS, "input": FLOATS})
def npu_mish_backward(grad: Tensor, input: Tensor) -> Tensor:
    x = as_wide(input)
    gate, bend = torch.sigmoid(x), functional.softplus(x).tanh()
    return (as_wide(grad) * (bend + x * gate * (1 - bend.square()))).to(input.dtype)
