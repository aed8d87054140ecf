"""Dropout and its masks: _npu_dropout.md and its neighbours (registry.DOCUMENTS)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from .bitmask import draw_keep_mask, pack_bits, seed_of, unpack_bits
from .numeric import as_wide
from .registry import FLOATS, reference


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _apply_mask(x: Tensor, mask: Tensor, p: float) -> Tensor:
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return (as_wide(x) * mask.reshape(x.shape) * scale).to(x.dtype)


def _draw_mask(count: int, p: float, generator: torch.Generator | None) -> Tensor:
    _check_probability(p)
    return draw_keep_mask(count, p, seed_of(generator), 0)


@reference("npu::_npu_dropout", dtypes={"input": FLOATS}, random=True)
def npu_dropout(input: Tensor, p: float, *, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """(input with elements dropped and the rest times 1 / (1 - p), the mask in bits)."""
    mask = _draw_mask(input.numel(), p, generator).to(input.device)
    return _apply_mask(input, mask, p), pack_bits(mask)


@reference("npu::npu_dropout_backward", dtypes={"grad_output": FLOATS})
def npu_dropout_backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    if mask.numel() == 0:
        return grad_output.new_empty(0)
    return _apply_mask(grad_output, unpack_bits(mask, grad_output.numel()), p)


@reference("npu::npu_dropout_do_mask", dtypes={"input": FLOATS})
def npu_dropout_do_mask(input: Tensor, mask: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """(input with what the bits say dropped, the mask)."""
    return _apply_mask(input, unpack_bits(mask, input.numel()), p), mask


@reference("npu::_npu_dropout_gen_mask.Tensor")
def npu_dropout_gen_mask_of(
    input: Tensor,
    size: Sequence[int],
    p: float,
    seed: int,
    offset: int,
    *,
    parallel: bool | None = True,
    sync: bool | None = None,
) -> Tensor:
    """The mask in bits of a tensor of this size; `p` is the probability to drop."""
    _check_probability(p)
    return pack_bits(draw_keep_mask(prod(size), p, seed, offset).to(input.device))


@reference("npu::npu_dropout_gen_mask", random=True)
def npu_dropout_gen_mask(
    size: Sequence[int],
    p: float,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    return pack_bits(_draw_mask(prod(size), p, generator).to(device or "cpu"))


@reference("npu::_dropout_with_byte_mask", random=True)
def dropout_with_byte_mask(
    input: Tensor, p: float, *, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """(input with elements dropped, the mask, a byte per element)."""
    if not input.is_floating_point():
        raise TypeError("dropout only supports floating-point dtypes")
    mask = _draw_mask(input.numel(), p, generator).to(input.device).reshape(input.shape)
    return _apply_mask(input, mask, p), mask.to(torch.uint8)


@reference("npu::_dropout_with_byte_mask_backward")
def dropout_with_byte_mask_backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    if mask.dtype != torch.uint8:
        raise TypeError("mask should be torch.uint8 dtype")
    return _apply_mask(grad_output, mask != 0, p)


@reference("npu::npu_dropout_with_add_softmax", dtypes={"input": FLOATS, "x1": FLOATS}, random=True)
def npu_dropout_with_add_softmax(
    input: Tensor, x1: Tensor, alpha: float, prob: float, dim: int, *, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(mask in bytes, s, s with elements dropped) of s = softmax(x1 + alpha * input)."""
    softmax = (as_wide(x1) + alpha * as_wide(input)).softmax(dim)
    kept_elements = _draw_mask(softmax.numel(), prob, generator).to(input.device)
    mask = torch.zeros(-(-kept_elements.numel() // 128) * 128, dtype=torch.uint8, device=input.device)
    mask[: kept_elements.numel()] = kept_elements
    dropped = _apply_mask(softmax, kept_elements, prob)
    return mask, softmax.to(x1.dtype), dropped.to(input.dtype)


@reference("npu::npu_dropout_with_add_softmax_backward", dtypes={"grad": FLOATS, "softmax_out": FLOATS})
def npu_dropout_with_add_softmax_backward(
    grad: Tensor, mask: Tensor, softmax_out: Tensor, alpha: float, prob: float, dim: int
) -> tuple[Tensor, Tensor]:
    """(alpha times the gradient of the sum, grad itself): what torch_npu hands to its two inputs."""
    gradient = _apply_mask(as_wide(grad), mask.flatten()[: grad.numel()] != 0, prob)
    y = as_wide(softmax_out)
    total = y * (gradient - (gradient * y).sum(dim, keepdim=True))
    return (alpha * total).to(softmax_out.dtype), grad
