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
from .registry import FLOATS, Arguments, reference, takes

GATHERED = (
    "Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float momentum, float eps, "
    "Tensor counts"
)


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
@takes(
    "Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, bool input_g, bool weight_g, "
    "bool bias_g"
)
def batch_norm_backward_reduce(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(sum of dy, sum of dy * (x - mean), gradient of weight, gradient of bias) of each channel of this card."""
    over = _over_channels(call.input)
    sum_dy = as_wide(call.grad_out).sum(over)
    sum_dy_xmu = (as_wide(call.grad_out) * (as_wide(call.input) - _along_channels(call.mean, call.input))).sum(over)
    dtype = call.input.dtype if call.weight is None else call.weight.dtype
    none = torch.empty(0, dtype=dtype)
    grad_weight = (sum_dy_xmu * as_wide(call.invstd)).to(dtype) if call.weight_g else none
    grad_bias = sum_dy.to(dtype) if call.bias_g else none
    return (sum_dy, sum_dy_xmu, grad_weight, grad_bias) if call.input_g else (none, none, grad_weight, grad_bias)


@reference("aten::batch_norm_backward_elemt", dtypes={"grad_out": FLOATS, "input": FLOATS})
@takes(
    "Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, Tensor sum_dy, Tensor sum_dy_xmu, "
    "Tensor count"
)
def batch_norm_backward_elemt(call: Arguments) -> Tensor:
    total = call.count.to(torch.float32).sum()
    centred = as_wide(call.input) - _along_channels(call.mean, call.input)
    slope = _along_channels(as_wide(call.sum_dy_xmu) / total * as_wide(call.invstd).square(), call.input)
    scale = as_wide(call.invstd) if call.weight is None else as_wide(call.invstd) * as_wide(call.weight)
    grad = as_wide(call.grad_out) - _along_channels(as_wide(call.sum_dy) / total, call.input) - centred * slope
    return (grad * _along_channels(scale, call.input)).to(call.input.dtype)


@reference("aten::batch_norm_gather_stats_with_counts", dtypes={"input": FLOATS})
@takes(GATHERED)
def batch_norm_gather_stats_with_counts(call: Arguments) -> tuple[Tensor, Tensor]:
    """(mean, 1 / deviation) of all cards from each card's (cards, channels), in the dtype of `mean`.

    Updates the running ones in place.
    """
    count = call.counts.to(torch.float32)[:, None]
    total = count.sum()
    average = (as_wide(call.mean) * count).sum(0) / total
    squares = (as_wide(call.invstd).reciprocal().square() - call.eps + (as_wide(call.mean) - average).square()) * count
    variance = squares.sum(0) / total
    return _update_running(call, average, variance, squares.sum(0) / (total - 1))


def _update_running(call: Arguments, average: Tensor, variance: Tensor, unbiased: Tensor) -> tuple[Tensor, Tensor]:
    """Update the running statistics in place; return (mean, 1 / deviation)."""
    for running, value in ((call.running_mean, average), (call.running_var, unbiased)):
        if running is not None:
            running.copy_(call.momentum * value + (1 - call.momentum) * as_wide(running))
    return average.to(call.mean.dtype), (variance + call.eps).rsqrt().to(call.mean.dtype)


@reference("npu::batch_norm_reduce", dtypes={"input": FLOATS})
def batch_norm_reduce(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """(the sum, the sum of squares) of each channel, in float32."""
    if input.dim() < 2:
        raise RuntimeError("The dim input tensor [self] must more than 1.")
    return as_wide(input).sum(_over_channels(input)), as_wide(input).square().sum(_over_channels(input))


@reference("npu::batch_norm_gather_stats_update", dtypes={"input": FLOATS})
@takes(GATHERED)
def batch_norm_gather_stats_update(call: Arguments) -> tuple[Tensor, Tensor]:
    """(mean, 1 / deviation) of all cards. `mean` and `invstd` are each card's sum and sum of squares.

    The running statistics are updated in place; the variance is the biased one.
    """
    count = call.counts.to(torch.float32).sum()
    average = as_wide(call.mean).sum(0) / count
    variance = as_wide(call.invstd).sum(0) / count - average.square()
    return _update_running(call, average, variance, variance)
