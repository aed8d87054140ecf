"""RMS normalisation, alone and after an addition.

Formulas: npu_rms_norm.md, npu_add_rms_norm.md, npu_gemma_rms_norm.md (registry.DOCUMENTS): y = x / rms(x) * gamma,
rms(x) = sqrt(mean(x^2) + epsilon) over the dimensions of gamma; the second result is 1 / rms(x) in float32.

Group normalisation followed by SiLU or Swish. Formulas: npu_group_norm_silu.md, npu_group_norm_swish.md.

Layer normalisation fused with what comes before it: an addition, or DeepNorm's scaled residual.

Formulas: torch_npu's npu_add_layer_norm, npu_deep_norm, npu_layer_norm_eval (registry.DOCUMENTS); DeepNet,
https://arxiv.org/abs/2203.00555: LayerNorm(alpha * x + gx). Statistics are float32.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide, compute_gradients, wide_or_none
from .registry import FLOATS, Arguments, reference, takes


def _dimensions_of(x: Tensor, gamma: Tensor) -> list[int]:
    if gamma.dim() > x.dim():
        raise RuntimeError("The gamma shape should not be bigger than input shape.")
    return list(range(x.dim() - gamma.dim(), x.dim()))


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """(y in float32 or wider, 1 / rms with kept dimensions)."""
    rstd = (as_wide(x).square().mean(_dimensions_of(x, gamma), keepdim=True) + epsilon).rsqrt()
    return as_wide(x) * rstd * as_wide(gamma), rstd


@reference("npu::npu_rms_norm", dtypes={"input": FLOATS, "gamma": FLOATS})
def npu_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    y, rstd = rms_norm(input, gamma, epsilon)
    return y.to(input.dtype), rstd


@reference("npu::npu_rms_norm_backward", dtypes={"dy": FLOATS, "input": FLOATS, "gamma": FLOATS})
def npu_rms_norm_backward(dy: Tensor, input: Tensor, gamma: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    """dx = rstd * (g - n * mean(g * n)) with n = x * rstd, g = dy * gamma; dgamma in float32, as the kernel's."""
    normal, grad = as_wide(input) * rstd, as_wide(dy)
    scaled = grad * as_wide(gamma)
    dx = rstd * (scaled - normal * (scaled * normal).mean(_dimensions_of(input, gamma), keepdim=True))
    dgamma = (grad * normal).sum_to_size(gamma.shape)
    return dx.to(input.dtype), as_wide(dgamma)


@reference("npu::npu_gemma_rms_norm", dtypes={"input": FLOATS, "gamma": FLOATS})
def npu_gemma_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    y, rstd = rms_norm(input, 1 + as_wide(gamma), epsilon)
    return y.to(input.dtype), rstd


@reference("npu::npu_add_rms_norm", dtypes={"x1": FLOATS, "x2": FLOATS, "gamma": FLOATS})
def npu_add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    """(y, 1 / rms, x1 + x2). The sum is normalised before it is rounded."""
    total = as_wide(x1) + as_wide(x2)
    y, rstd = rms_norm(total, gamma, epsilon)
    return y.to(x1.dtype), rstd, total.to(x1.dtype)


@reference("npu::npu_add_rms_norm_cast", dtypes={"x1": FLOATS, "x2": FLOATS, "gamma": FLOATS})
def npu_add_rms_norm_cast(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(y in float32, y, 1 / rms, x1 + x2): y in float32 is y after its rounding."""
    y, rstd, total = npu_add_rms_norm(x1, x2, gamma, epsilon)
    return y.to(torch.float32), y, rstd, total


@reference("npu::npu_add_rms_norm_v2_functional", dtypes={"x1": FLOATS, "x2": FLOATS, "gamma": FLOATS})
def npu_add_rms_norm_v2_functional(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """(1 / rms, y, x1 + x2)."""
    y, rstd, total = npu_add_rms_norm(x1, x2, gamma, epsilon)
    return rstd, y, total


@reference("npu::npu_add_rms_norm_v2", dtypes={"x1": FLOATS, "x2": FLOATS, "gamma": FLOATS})
def npu_add_rms_norm_v2(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> Tensor:
    """In place: x1 becomes y, x2 becomes x1 + x2; 1 / rms is returned."""
    y, rstd, total = npu_add_rms_norm(x1, x2, gamma, epsilon)
    x1.copy_(y)
    x2.copy_(total)
    return rstd


@reference("npu::npu_renorm_backward")
def npu_renorm_backward(grad: Tensor, input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The gradient of torch.renorm, whose norms are summed in float32 (RenormBackwardKernelNpu.cpp)."""
    others = [axis for axis in range(input.dim()) if axis != dim % input.dim()]

    def run_renorm(x: Tensor) -> Tensor:
        norm = torch.linalg.vector_norm(x, p, others, keepdim=True)
        return x * torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), torch.ones_like(norm))

    (gradient,) = compute_gradients(run_renorm, (input,), (grad,))
    assert gradient is not None
    return gradient


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


@reference("npu::npu_group_norm_swish", dtypes={"input": FLOATS, "weight": FLOATS, "bias": FLOATS})
@takes("Tensor input, int num_groups, Tensor weight, Tensor bias, float? eps=1e-5, float? swish_scale=1.0")
def npu_group_norm_swish(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(swish(group_norm(input)), mean, rstd), swish(y) = y * sigmoid(swish_scale * y)."""
    call.eps, scale = 1e-5 if call.eps is None else call.eps, 1.0 if call.swish_scale is None else call.swish_scale
    y = functional.group_norm(as_wide(call.input), call.num_groups, as_wide(call.weight), as_wide(call.bias), call.eps)
    y = y * torch.sigmoid(scale * y)
    mean, rstd = _compute_statistics(call.input, call.num_groups, call.eps)
    return y.to(call.input.dtype), mean.to(call.input.dtype), rstd.to(call.input.dtype)


@reference("npu::npu_group_norm_swish_grad", dtypes={"grad": FLOATS, "input": FLOATS})
@takes(
    "Tensor grad, Tensor input, int num_groups, Tensor weight, Tensor bias, Tensor mean, Tensor rstd, "
    "bool[] grad_input_mask, float? swish_scale=1.0"
)
def npu_group_norm_swish_grad(call: Arguments) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """(dinput, dweight, dbias), from the statistics of the forward."""
    scale = 1.0 if call.swish_scale is None else call.swish_scale
    shape = (call.input.shape[0], call.num_groups, 1)
    epsilon = (1 / as_wide(call.rstd).square()).reshape(shape)

    def run_forward(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        parts = x.reshape(x.shape[0], call.num_groups, -1)
        centred = parts - parts.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        normal = (centred / (variance + (epsilon - variance.detach())).sqrt()).reshape(x.shape)
        channels = [1, -1, *[1] * (x.dim() - 2)]
        y = normal * gamma.reshape(channels) + beta.reshape(channels)
        return y * torch.sigmoid(scale * y)

    dx, dgamma, dbeta = compute_gradients(run_forward, [call.input, call.weight, call.bias], [call.grad])
    keep = list(call.grad_input_mask)
    return dx if keep[0] else None, dgamma if keep[1] else None, dbeta if keep[2] else None


def _normalise(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return ((x - mean) * rstd, mean, rstd) over the dimensions of gamma, those two with kept dimensions."""
    over = list(range(x.dim() - gamma.dim(), x.dim()))
    mean = x.mean(over, keepdim=True)
    rstd = ((x - mean).square().mean(over, keepdim=True) + epsilon).rsqrt()
    return (x - mean) * rstd, mean, rstd


def _input_gradient(grad: Tensor, normal: Tensor, gamma: Tensor, rstd: Tensor) -> Tensor:
    over = list(range(grad.dim() - gamma.dim(), grad.dim()))
    scaled = grad * as_wide(gamma)
    centred = scaled - scaled.mean(over, keepdim=True)
    return rstd * (centred - normal * (scaled * normal).mean(over, keepdim=True))


@reference("npu::npu_add_layer_norm", dtypes={"x1": FLOATS, "x2": FLOATS, "gamma": FLOATS, "beta": FLOATS})
def npu_add_layer_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-5, additional_output: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(y, mean, rstd, x1 + x2); the sum is zero where `additional_output` does not ask for it."""
    total, dtype = as_wide(x1) + as_wide(x2), x1.dtype if x1.dtype == x2.dtype else torch.float32
    normal, mean, rstd = _normalise(total, gamma, epsilon)
    shape = [*x1.shape[: x1.dim() - gamma.dim()], 1]
    y = (normal * as_wide(gamma) + as_wide(beta)).to(dtype)
    added = total.to(dtype) if additional_output else torch.zeros_like(y)
    return y, mean.reshape(shape), rstd.reshape(shape), added


@reference("npu::npu_add_layer_norm_backward", dtypes={"x1": FLOATS, "x2": FLOATS, "gamma": FLOATS})
def npu_add_layer_norm_backward(
    dy_opt: Tensor | None, x1: Tensor, x2: Tensor, rstd: Tensor, mean: Tensor, gamma: Tensor, dsum_opt: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(dx1, dx2, dgamma, dbeta); dx1 and dx2 are equal, dgamma and dbeta float32."""
    total = as_wide(x1) + as_wide(x2)
    shape = [*x1.shape[: x1.dim() - gamma.dim()], *[1] * gamma.dim()]
    mean, rstd = mean.reshape(shape), rstd.reshape(shape)
    grad = torch.zeros_like(total) if dy_opt is None else as_wide(dy_opt)
    normal = (total - mean) * rstd
    dx = _input_gradient(grad, normal, gamma, rstd)
    dx = dx if dsum_opt is None else dx + as_wide(dsum_opt)
    dgamma, dbeta = (grad * normal).sum_to_size(gamma.shape), grad.sum_to_size(gamma.shape)
    return dx.to(x1.dtype), dx.to(x1.dtype), dgamma, dbeta.clone()


@reference("npu::npu_deep_norm", dtypes={"x": FLOATS, "gx": FLOATS, "beta": FLOATS, "gamma": FLOATS})
def npu_deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float = 0.3, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """(mean, rstd, y) of y = LayerNorm(alpha * x + gx) * gamma + beta."""
    normal, mean, rstd = _normalise(alpha * as_wide(x) + as_wide(gx), gamma, epsilon)
    return mean, rstd, (normal * as_wide(gamma) + as_wide(beta)).to(x.dtype)


@reference("npu::npu_deep_norm_backward", dtypes={"dy": FLOATS, "x": FLOATS, "gx": FLOATS, "gamma": FLOATS})
def npu_deep_norm_backward(
    dy: Tensor, x: Tensor, gx: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor, alpha: float = 0.3
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(dx, dgx, dbeta, dgamma), the last two float32."""
    normal, grad = (alpha * as_wide(x) + as_wide(gx) - mean) * rstd, as_wide(dy)
    dgx = _input_gradient(grad, normal, gamma, rstd)
    dbeta, dgamma = grad.sum_to_size(gamma.shape), (grad * normal).sum_to_size(gamma.shape)
    return (alpha * dgx).to(x.dtype), dgx.to(gx.dtype), dbeta.clone(), dgamma


@reference("npu::npu_layer_norm_eval", dtypes={"input": FLOATS})
@takes("Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-5")
def npu_layer_norm_eval(call: Arguments) -> Tensor:
    y = functional.layer_norm(
        as_wide(call.input), list(call.normalized_shape), wide_or_none(call.weight), wide_or_none(call.bias), call.eps
    )
    return y.to(call.input.dtype)


@reference("npu::npu_layernorm_grad", dtypes={"input": FLOATS})
@takes("Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias")
def npu_layernorm_grad(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(dinput, dweight, dbias)."""
    input, grad = call.input, as_wide(call.grad_out)
    gamma = input.new_ones(list(call.normalized_shape)) if call.weight is None else call.weight
    shape = [*input.shape[: input.dim() - gamma.dim()], *[1] * gamma.dim()]
    mean, rstd = (as_wide(statistic).reshape(shape) for statistic in (call.mean, call.rstd))
    normal = (as_wide(input) - mean) * rstd
    dx = _input_gradient(grad, normal, gamma, rstd)
    dgamma, dbeta = (grad * normal).sum_to_size(gamma.shape), grad.sum_to_size(gamma.shape)
    return dx.to(call.input.dtype), dgamma.to(gamma.dtype), dbeta.to(gamma.dtype)
