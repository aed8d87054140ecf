"""Group normalisation followed by SiLU or Swish. Formulas: npu_group_norm_silu.md, npu_group_norm_swish.md."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide, compute_gradients, wide_or_none
from .registry import FLOATS, reference


def _compute_statistics(x: Tensor, groups: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return (mean, 1 / deviation) of shape (N, groups)."""
    parts = as_wide(x).reshape(x.shape[0], groups, -1)
    return parts.mean(-1), (parts.var(-1, unbiased=False) + eps).rsqrt()


@reference("npu::npu_group_norm_silu", dtypes={"input": FLOATS, "weight": FLOATS, "bias": FLOATS})
def npu_group_norm_silu(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, group: int, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """(silu(group_norm(input)), mean, rstd); the statistics have the weight's dtype, or the input's."""
    y = functional.silu(functional.group_norm(as_wide(input), group, wide_or_none(weight), wide_or_none(bias), eps))
    mean, rstd = _compute_statistics(input, group, eps)
    dtype = input.dtype if weight is None else weight.dtype
    return y.to(input.dtype), mean.to(dtype), rstd.to(dtype)


def _group_norm_swish(x: Tensor, groups: int, weight: Tensor, bias: Tensor, eps: float, scale: float) -> Tensor:
    y = functional.group_norm(x, groups, weight, bias, eps)
    return y * torch.sigmoid(scale * y)


@reference("npu::npu_group_norm_swish", dtypes={"input": FLOATS, "weight": FLOATS, "bias": FLOATS})
def npu_group_norm_swish(
    input: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    eps: float | None = 1e-5,
    swish_scale: float | None = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """(swish(group_norm(input)), mean, rstd), swish(y) = y * sigmoid(swish_scale * y)."""
    eps, scale = 1e-5 if eps is None else eps, 1.0 if swish_scale is None else swish_scale
    y = _group_norm_swish(as_wide(input), num_groups, as_wide(weight), as_wide(bias), eps, scale)
    mean, rstd = _compute_statistics(input, num_groups, eps)
    return y.to(input.dtype), mean.to(input.dtype), rstd.to(input.dtype)


@reference("npu::npu_group_norm_swish_grad", dtypes={"grad": FLOATS, "input": FLOATS})
def npu_group_norm_swish_grad(
    grad: Tensor,
    input: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    rstd: Tensor,
    grad_input_mask: Sequence[bool],
    swish_scale: float | None = 1.0,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """(dinput, dweight, dbias), from the statistics of the forward."""
    scale = 1.0 if swish_scale is None else swish_scale
    shape = (input.shape[0], num_groups, 1)
    epsilon = (1 / as_wide(rstd).square()).reshape(shape)

    def run_forward(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        parts = x.reshape(x.shape[0], num_groups, -1)
        centred = parts - parts.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        normal = (centred / (variance + (epsilon - variance.detach())).sqrt()).reshape(x.shape)
        channels = [1, -1, *[1] * (x.dim() - 2)]
        y = normal * gamma.reshape(channels) + beta.reshape(channels)
        return y * torch.sigmoid(scale * y)

    dx, dgamma, dbeta = compute_gradients(run_forward, [input, weight, bias], [grad])
    keep = list(grad_input_mask)
    return dx if keep[0] else None, dgamma if keep[1] else None, dbeta if keep[2] else None
