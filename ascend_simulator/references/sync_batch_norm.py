"""Statistics of batch normalisation over several cards: batch_norm_reduce.md, batch_norm_gather_stats_update."""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference


@reference("npu::batch_norm_reduce", dtypes={"input": FLOATS})
def batch_norm_reduce(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """(the sum, the sum of squares) of each channel, in float32."""
    if input.dim() < 2:
        raise RuntimeError("The dim input tensor [self] must more than 1.")
    over = [dim for dim in range(input.dim()) if dim != 1]
    return as_wide(input).sum(over), as_wide(input).square().sum(over)


@reference("npu::batch_norm_gather_stats_update", dtypes={"input": FLOATS})
def batch_norm_gather_stats_update(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """(mean, 1 / deviation) of all cards. `mean` and `invstd` are each card's sum and sum of squares.

    The running statistics are updated in place; the variance is the biased one.
    """
    count = counts.to(torch.float32).sum()
    average = as_wide(mean).sum(0) / count
    variance = as_wide(invstd).sum(0) / count - average.square()
    for running, value in ((running_mean, average), (running_var, variance)):
        if running is not None:
            running.copy_(momentum * value + (1 - momentum) * as_wide(running))
    return average.to(mean.dtype), (variance + eps).rsqrt().to(mean.dtype)
