"""Layer normalisation fused with what comes before it: an addition, or DeepNorm's scaled residual.

Formulas: torch_npu's npu_add_layer_norm, npu_deep_norm, npu_layer_norm_eval (registry.DOCUMENTS); DeepNet,
https://arxiv.org/abs/2203.00555: LayerNorm(alpha * x + gx). Statistics are float32.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .numeric import as_wide, wide_or_none
from .registry import FLOATS, reference


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


def _result_dtype(x1: Tensor, x2: Tensor) -> torch.dtype:
    return x1.dtype if x1.dtype == x2.dtype else torch.float32


@reference("npu::npu_add_layer_norm", dtypes={"x1": FLOATS, "x2": FLOATS, "gamma": FLOATS, "beta": FLOATS})
def npu_add_layer_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-5, additional_output: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(y, mean, rstd, x1 + x2); the sum is zero where `additional_output` does not ask for it."""
    total, dtype = as_wide(x1) + as_wide(x2), _result_dtype(x1, x2)
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
def npu_layer_norm_eval(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    y = functional.layer_norm(as_wide(input), list(normalized_shape), wide_or_none(weight), wide_or_none(bias), eps)
    return y.to(input.dtype)


@reference("npu::npu_layernorm_grad", dtypes={"input": FLOATS})
def npu_layernorm_grad(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(dinput, dweight, dbias)."""
    gamma = torch.ones(list(normalized_shape), dtype=input.dtype, device=input.device) if weight is None else weight
    shape = [*input.shape[: input.dim() - gamma.dim()], *[1] * gamma.dim()]
    normal, grad = (as_wide(input) - as_wide(mean).reshape(shape)) * as_wide(rstd).reshape(shape), as_wide(grad_out)
    dx = _input_gradient(grad, normal, gamma, as_wide(rstd).reshape(shape))
    dgamma, dbeta = (grad * normal).sum_to_size(gamma.shape), grad.sum_to_size(gamma.shape)
    return dx.to(input.dtype), dgamma.to(gamma.dtype), dbeta.to(gamma.dtype)
