"""Batch normalisation in parts, as SyncBatchNorm takes it; aten has these for CUDA only, torch_npu for the NPU.

Formulas: aclnnBatchNormStats, aclnnBatchNormElemt, aclnnBatchNormReduceBackward, aclnnBatchNormElemtBackward and
aclnnBatchNormGatherStatsWithCounts of CANN's operator library (https://www.hiascend.com/document); the running variance
is the unbiased one, as in torch's own kernels (aten/src/ATen/native/cuda/Normalization.cuh).

Statistics of batch normalisation over several cards: batch_norm_reduce.md, batch_norm_gather_stats_update.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference


def _over_channels(tensor: Tensor) -> list[int]:
    return [dim for dim in range(tensor.dim()) if dim != 1]


def _along_channels(channels: Tensor, like: Tensor) -> Tensor:
    """Shape a value per channel (C) to broadcast over (N, C, ...)."""
    return as_wide(channels).reshape([-1 if dim == 1 else 1 for dim in range(like.dim())])


@reference("aten::batch_norm_stats", dtypes={"input": FLOATS})
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """(mean, 1 / deviation) of each channel, in float32."""
    variance, mean = torch.var_mean(as_wide(input), _over_channels(input), correction=0)
    return mean, (variance + eps).rsqrt()


@reference("aten::batch_norm_elemt", dtypes={"input": FLOATS})
@reference("aten::batch_norm_elemt.out", dtypes={"input": FLOATS}, writes=("out",))
def batch_norm_elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    result = (as_wide(input) - _along_channels(mean, input)) * _along_channels(invstd, input)
    if weight is not None:
        result = result * _along_channels(weight, input)
    if bias is not None:
        result = result + _along_channels(bias, input)
    return result.to(input.dtype)


@reference("aten::batch_norm_backward_reduce", dtypes={"grad_out": FLOATS, "input": FLOATS})
def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(sum of dy, sum of dy * (x - mean), gradient of weight, gradient of bias) of each channel of this card."""
    over = _over_channels(input)
    sum_dy = as_wide(grad_out).sum(over)
    sum_dy_xmu = (as_wide(grad_out) * (as_wide(input) - _along_channels(mean, input))).sum(over)
    dtype = input.dtype if weight is None else weight.dtype
    none = torch.empty(0, dtype=dtype)
    grad_weight = (sum_dy_xmu * as_wide(invstd)).to(dtype) if weight_g else none
    grad_bias = sum_dy.to(dtype) if bias_g else none
    return (sum_dy, sum_dy_xmu, grad_weight, grad_bias) if input_g else (none, none, grad_weight, grad_bias)


@reference("aten::batch_norm_backward_elemt", dtypes={"grad_out": FLOATS, "input": FLOATS})
def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    total = count.to(torch.float32).sum()
    centred = as_wide(input) - _along_channels(mean, input)
    slope = _along_channels(as_wide(sum_dy_xmu) / total * as_wide(invstd).square(), input)
    scale = as_wide(invstd) if weight is None else as_wide(invstd) * as_wide(weight)
    grad = as_wide(grad_out) - _along_channels(as_wide(sum_dy) / total, input) - centred * slope
    return (grad * _along_channels(scale, input)).to(input.dtype)


@reference("aten::batch_norm_gather_stats_with_counts", dtypes={"input": FLOATS})
def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """(mean, 1 / deviation) of all cards from each card's (cards, channels), in the dtype of `mean`.

    Updates the running ones in place.
    """
    count = counts.to(torch.float32)[:, None]
    total = count.sum()
    average = (as_wide(mean) * count).sum(0) / total
    squares = (as_wide(invstd).reciprocal().square() - eps + (as_wide(mean) - average).square()) * count
    variance = squares.sum(0) / total
    for running, value in ((running_mean, average), (running_var, squares.sum(0) / (total - 1))):
        if running is not None:
            running.copy_(momentum * value + (1 - momentum) * as_wide(running))
    return average.to(mean.dtype), (variance + eps).rsqrt().to(mean.dtype)


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
