"""RMS normalisation, alone and after an addition.

Formulas: npu_rms_norm.md, npu_add_rms_norm.md, npu_gemma_rms_norm.md (registry.DOCUMENTS): y = x / rms(x) * gamma,
rms(x) = sqrt(mean(x^2) + epsilon) over the dimensions of gamma; the second result is 1 / rms(x) in float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide, compute_gradients
from .registry import FLOATS, reference


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
