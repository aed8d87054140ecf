"""Gated linear units: one half of a tensor, through an activation, times the other half.

Formulas: npu_swiglu, npu_geglu, npu_clipped_swiglu (registry.DOCUMENTS).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide
from .registry import FLOATS, reference


def _split_halves(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    if not -x.dim() <= dim < x.dim():
        raise RuntimeError(f"dim value {dim} is out of range [{-x.dim()}, {x.dim() - 1}]")
    if x.shape[dim] % 2:
        raise RuntimeError(f"the size of dimension {dim} must be even, but got {x.shape[dim]}")
    first, second = x.chunk(2, dim)
    return first, second


@reference("npu::npu_swiglu", dtypes={"input": FLOATS})
def npu_swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu(first half) * second half."""
    first, second = _split_halves(as_wide(input), dim)
    return (functional.silu(first) * second).to(input.dtype)


@reference("npu::npu_swiglu_backward", dtypes={"grad_output": FLOATS, "input": FLOATS})
def npu_swiglu_backward(grad_output: Tensor, input: Tensor, dim: int = -1) -> Tensor:
    first, second = _split_halves(as_wide(input), dim)
    grad, gate = as_wide(grad_output), torch.sigmoid(first)
    dfirst = grad * second * gate * (1 + first * (1 - gate))
    return torch.cat([dfirst, grad * first * gate], dim).to(input.dtype)


def _compute_gelu(x: Tensor, approximate: int) -> Tensor:
    return functional.gelu(x, approximate="tanh" if approximate == 1 else "none")


@reference("npu::npu_geglu", dtypes={"input": FLOATS})
def npu_geglu(input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    """(x * gelu(gate), gelu(gate)): the gate is the right half, or the left one with `activate_left`."""
    left, right = _split_halves(as_wide(input), dim)
    gate, x = (left, right) if activate_left else (right, left)
    activated = _compute_gelu(gate, approximate)
    return (x * activated).to(input.dtype), activated.to(input.dtype)


@reference("npu::npu_geglu_grad", dtypes={"grad_output": FLOATS, "input": FLOATS})
def npu_geglu_grad(
    grad_output: Tensor,
    input: Tensor,
    gelu: Tensor,
    dim: int = -1,
    approximate: int = 1,
    activate_left: bool = False,
) -> Tensor:
    left, right = _split_halves(as_wide(input), dim)
    gate, x = (left, right) if activate_left else (right, left)
    kind = "tanh" if approximate == 1 else "none"
    dgate = torch.ops.aten.gelu_backward(as_wide(grad_output) * x, gate, approximate=kind)
    dx = as_wide(grad_output) * as_wide(gelu)
    return torch.cat([dgate, dx] if activate_left else [dx, dgate], dim).to(input.dtype)


@reference("npu::npu_clipped_swiglu", dtypes={"x": FLOATS})
def npu_clipped_swiglu(
    x: Tensor,
    *,
    group_index: Tensor | None = None,
    dim: int = -1,
    alpha: float = 1.702,
    limit: float = 7.0,
    bias: float = 1.0,
    interleaved: bool = True,
) -> Tensor:
    """a * sigmoid(alpha * a) * (b + bias), a = min(a, limit), b within +-limit; rows beyond the groups are zero."""
    axis = dim % x.dim()
    rows = as_wide(x).reshape(x.shape[:axis].numel(), -1)
    a, b = (rows[:, ::2], rows[:, 1::2]) if interleaved else rows.chunk(2, 1)
    a, b = a.clamp(max=limit), b.clamp(-limit, limit)
    y = a * torch.sigmoid(alpha * a) * (b + bias)
    if group_index is not None:
        y[int(group_index.sum()) :] = 0
    return y.reshape(*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :]).to(x.dtype)
