"""Precision and gradients, as all references have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import torch
from torch import Tensor


def as_wide(tensor: Tensor) -> Tensor:
    """Return half and bfloat16 as float32; anything else as it is."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def wide_or_none(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else as_wide(tensor)


def compute_gradients(
    function: Callable[..., Any], inputs: Sequence[Tensor | None], grads: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return the gradient for each input (None where it is None or integral) of sum(output * grad), by autograd.

    `function` gets the inputs in float32 or wider and returns one tensor or several; a grad of None counts as zero.
    Each gradient has its input's dtype.
    """
    leaves = [
        as_wide(value.detach()).clone().requires_grad_() if value is not None and value.is_floating_point() else value
        for value in inputs
    ]
    with torch.enable_grad():
        outputs = function(*leaves)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(out, as_wide(grad)) for out, grad in zip(outputs, grads) if grad is not None and out.requires_grad]
        total = sum((out * grad).sum() for out, grad in pairs)
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    computed = iter(torch.autograd.grad(total, wanted, allow_unused=True) if pairs else [None] * len(wanted))
    result: list[Tensor | None] = []
    for value, leaf in zip(inputs, leaves):
        if value is None or leaf is None or not leaf.requires_grad:
            result.append(None)
            continue
        grad = next(computed)
        result.append(torch.zeros_like(value) if grad is None else grad.to(value.dtype))
    return result


def sum_to(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the gradient of a broadcast: summed over what was broadcast, in the dtype of `like`."""
    return tensor.sum_to_size(like.shape).to(like.dtype)
