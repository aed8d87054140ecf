"""Softmax after scaling and masking. Formulas: npu_scaled_masked_softmax.md and its neighbours (registry.DOCUMENTS)."""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference


def _apply_mask(x: Tensor, mask: Tensor, scale: float, fixed: bool) -> Tensor:
    hidden = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1) if fixed else mask
    return (as_wide(x) * scale).masked_fill(hidden, -10000.0)


@reference("npu::npu_scaled_masked_softmax", dtypes={"x": FLOATS, "mask": (torch.bool,)})
def npu_scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False) -> Tensor:
    """softmax(x * scale), -10000 where the mask is True (or above the diagonal with `fixed_triu_mask`)."""
    return _apply_mask(x, mask, scale, fixed_triu_mask).softmax(-1).to(x.dtype)


@reference("npu::npu_scaled_masked_softmax_backward", dtypes={"y_grad": FLOATS, "y": FLOATS})
def npu_scaled_masked_softmax_backward(
    y_grad: Tensor, y: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool
) -> Tensor:
    grad, value = as_wide(y_grad), as_wide(y)
    inner = value * (grad - (grad * value).sum(-1, keepdim=True)) * scale
    hidden = torch.ones(y.shape[-2:], dtype=torch.bool, device=y.device).triu(1) if fixed_triu_mask else mask
    return inner.masked_fill(hidden, 0.0).to(y_grad.dtype)


@reference("npu::npu_masked_softmax_with_rel_pos_bias", dtypes={"x": FLOATS})
def npu_masked_softmax_with_rel_pos_bias(
    x: Tensor,
    atten_mask: Tensor | None,
    relative_pos_bias: Tensor,
    scale_value: float = 1.0,
    inner_precision_mode: int = 0,
) -> Tensor:
    """softmax(x * scale + mask + bias): the mask is added, as Swin Transformer's."""
    scores = as_wide(x) * scale_value + as_wide(relative_pos_bias)
    if atten_mask is not None:
        mask = as_wide(atten_mask)
        scores = scores + (mask.unsqueeze(-3) if x.dim() > 4 and mask.dim() == x.dim() - 2 else mask)
    return scores.softmax(-1).to(x.dtype)


@reference("npu::npu_attn_softmax_", writes=("input",))
def npu_attn_softmax_(input: Tensor) -> Tensor:
    return as_wide(input).softmax(-1).to(input.dtype)


@reference("npu::npu_attn_softmax_backward_", writes=("input",))
def npu_attn_softmax_backward_(input: Tensor, grad_output: Tensor, values: Tensor) -> Tensor:
    """`input` is softmax's result and receives the gradient: y * (g - sum(g * y)), g = grad_output @ values^T."""
    y = as_wide(input)
    grad = as_wide(grad_output) @ as_wide(values).transpose(-1, -2)
    return (y * (grad - (grad * y).sum(-1, keepdim=True))).to(input.dtype)
