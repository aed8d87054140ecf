"""Activation functions. Formulas: torch_npu's npu_fast_gelu, npu_gelu, npu_silu, npu_mish (registry.DOCUMENTS).

Gated linear units: one half of a tensor, through an activation, times the other half.

Formulas: npu_swiglu, npu_geglu, npu_clipped_swiglu (registry.DOCUMENTS).

Softmax after scaling and masking. Formulas: npu_scaled_masked_softmax.md and its neighbours (registry.DOCUMENTS).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide
from .registry import FLOATS, Arguments, reference, takes

FAST_GELU_SLOPE = 1.702


@reference("npu::npu_fast_gelu", dtypes={"input": FLOATS})
@reference("npu::fast_gelu", dtypes={"input": FLOATS})
def npu_fast_gelu(input: Tensor) -> Tensor:
    """x / (1 + exp(-1.702 x)): the formula of Atlas A2 and A3."""
    return (as_wide(input) * torch.sigmoid(FAST_GELU_SLOPE * as_wide(input))).to(input.dtype)


@reference("npu::npu_fast_gelu_backward", dtypes={"grad": FLOATS, "input": FLOATS})
def npu_fast_gelu_backward(grad: Tensor, input: Tensor) -> Tensor:
    gate = torch.sigmoid(FAST_GELU_SLOPE * as_wide(input))
    return (as_wide(grad) * gate * (1 + FAST_GELU_SLOPE * as_wide(input) * (1 - gate))).to(input.dtype)


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
@reference("npu::npu_silu_", dtypes={"input": FLOATS}, writes=("input",))
def npu_silu(input: Tensor) -> Tensor:
    return functional.silu(as_wide(input)).to(input.dtype)


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


@reference("npu::npu_geglu", dtypes={"input": FLOATS})
def npu_geglu(input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    """(x * gelu(gate), gelu(gate)): the gate is the right half, or the left one with `activate_left`."""
    left, right = _split_halves(as_wide(input), dim)
    gate, x = (left, right) if activate_left else (right, left)
    activated = functional.gelu(gate, approximate="tanh" if approximate == 1 else "none")
    return (x * activated).to(input.dtype), activated.to(input.dtype)


@reference("npu::npu_geglu_grad", dtypes={"grad_output": FLOATS, "input": FLOATS})
@takes("Tensor grad_output, Tensor input, Tensor gelu, int dim=-1, int approximate=1, bool activate_left=False")
def npu_geglu_grad(call: Arguments) -> Tensor:
    left, right = _split_halves(as_wide(call.input), call.dim)
    gate, x = (left, right) if call.activate_left else (right, left)
    kind = "tanh" if call.approximate == 1 else "none"
    dgate = torch.ops.aten.gelu_backward(as_wide(call.grad_output) * x, gate, approximate=kind)
    dx = as_wide(call.grad_output) * as_wide(call.gelu)
    return torch.cat([dgate, dx] if call.activate_left else [dx, dgate], call.dim).to(call.input.dtype)


@reference("npu::npu_clipped_swiglu", dtypes={"x": FLOATS})
@takes(
    "Tensor x, *, Tensor? group_index=None, int dim=-1, float alpha=1.702, float limit=7.0, float bias=1.0, "
    "bool interleaved=True"
)
def npu_clipped_swiglu(call: Arguments) -> Tensor:
    """a * sigmoid(alpha * a) * (b + bias), a = min(a, limit), b within +-limit; rows beyond the groups are zero."""
    axis = call.dim % call.x.dim()
    rows = as_wide(call.x).reshape(call.x.shape[:axis].numel(), -1)
    a, b = (rows[:, ::2], rows[:, 1::2]) if call.interleaved else rows.chunk(2, 1)
    a, b = a.clamp(max=call.limit), b.clamp(-call.limit, call.limit)
    y = a * torch.sigmoid(call.alpha * a) * (b + call.bias)
    if call.group_index is not None:
        y[int(call.group_index.sum()) :] = 0
    return y.reshape(*call.x.shape[:axis], call.x.shape[axis] // 2, *call.x.shape[axis + 1 :]).to(call.x.dtype)


def _hide_scores(x: Tensor, mask: Tensor, fixed: bool) -> Tensor:
    return torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1) if fixed else mask


@reference("npu::npu_scaled_masked_softmax", dtypes={"x": FLOATS, "mask": (torch.bool,)})
def npu_scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False) -> Tensor:
    """softmax(x * scale), -10000 where the mask is True (or above the diagonal with `fixed_triu_mask`)."""
    return (as_wide(x) * scale).masked_fill(_hide_scores(x, mask, fixed_triu_mask), -10000.0).softmax(-1).to(x.dtype)


@reference("npu::npu_scaled_masked_softmax_backward", dtypes={"y_grad": FLOATS, "y": FLOATS})
def npu_scaled_masked_softmax_backward(
    y_grad: Tensor, y: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool
) -> Tensor:
    grad, value = as_wide(y_grad), as_wide(y)
    inner = value * (grad - (grad * value).sum(-1, keepdim=True)) * scale
    return inner.masked_fill(_hide_scores(y, mask, fixed_triu_mask), 0.0).to(y_grad.dtype)


@reference("npu::npu_masked_softmax_with_rel_pos_bias", dtypes={"x": FLOATS})
@takes("Tensor x, Tensor? atten_mask, Tensor relative_pos_bias, float scale_value=1.0, int inner_precision_mode=0")
def npu_masked_softmax_with_rel_pos_bias(call: Arguments) -> Tensor:
    """softmax(x * scale + mask + bias): the mask is added, as Swin Transformer's."""
    scores = as_wide(call.x) * call.scale_value + as_wide(call.relative_pos_bias)
    if call.atten_mask is not None:
        mask = as_wide(call.atten_mask)
        scores = scores + (mask.unsqueeze(-3) if call.x.dim() > 4 and mask.dim() == call.x.dim() - 2 else mask)
    return scores.softmax(-1).to(call.x.dtype)


@reference("npu::npu_attn_softmax_", writes=("input",))
def npu_attn_softmax_(input: Tensor) -> Tensor:
    return as_wide(input).softmax(-1).to(input.dtype)


@reference("npu::npu_attn_softmax_backward_", writes=("input",))
def npu_attn_softmax_backward_(input: Tensor, grad_output: Tensor, values: Tensor) -> Tensor:
    """`input` is softmax's result and receives the gradient: y * (g - sum(g * y)), g = grad_output @ values^T."""
    y = as_wide(input)
    grad = as_wide(grad_output) @ as_wide(values).transpose(-1, -2)
    return (y * (grad - (grad * y).sum(-1, keepdim=True))).to(input.dtype)
