"""Adam's steps as one operator, in place. Formulas: npu_apply_adam.md, npu_bert_apply_adam.md, npu_apply_adam_w."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference

Step = tuple[Tensor, Tensor, Tensor]


def _update_moments(m: Tensor, v: Tensor, grad: Tensor, beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
    return beta1 * as_wide(m) + (1 - beta1) * grad, beta2 * as_wide(v) + (1 - beta2) * grad.square()


def _same_dtypes(step: Step, like: Sequence[Tensor]) -> Step:
    first, second, third = (value.to(tensor.dtype) for value, tensor in zip(step, like))
    return first, second, third


@reference("npu::npu_apply_adam.out", dtypes={"grad": FLOATS, "out": FLOATS}, writes=("out",))
def npu_apply_adam_out(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    use_locking: bool | None,
    use_nesterov: bool | None,
    *,
    out: Sequence[Tensor],
) -> Step:
    """TensorFlow's ApplyAdam: the rate is lr * sqrt(1 - beta2_power) / (1 - beta1_power), epsilon outside the root."""
    var, m, v = out
    gradient = as_wide(grad)
    mean, square = _update_moments(m, v, gradient, beta1, beta2)
    rate = gradient.new_tensor(lr * (1 - beta2_power) ** 0.5) / (1 - beta1_power)
    direction = beta1 * mean + (1 - beta1) * gradient if use_nesterov else mean
    return _same_dtypes((as_wide(var) - rate * direction / (square.sqrt() + epsilon), mean, square), out)


@reference("npu::npu_apply_adam_w.out", dtypes={"grad": FLOATS, "out": FLOATS}, writes=("out",))
def npu_apply_adam_w_out(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    weight_decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    max_grad_norm: Tensor | None,
    amsgrad: bool | None,
    maximize: bool | None,
    *,
    out: Sequence[Tensor],
) -> Step:
    """AdamW. The powers are those before this step; `max_grad_norm` holds AMSGrad's largest second moment."""
    if amsgrad and max_grad_norm is None:
        raise RuntimeError("if amsgrad is true, max_gard_norm input must be entered")
    var, m, v = out
    mean, square = _update_moments(m, v, -as_wide(grad) if maximize else as_wide(grad), beta1, beta2)
    largest = torch.maximum(as_wide(max_grad_norm), square) if amsgrad and max_grad_norm is not None else square
    denominator = (largest / (1 - beta2_power * beta2)).sqrt() + epsilon
    decayed = as_wide(var) * (1 - lr * weight_decay)
    return _same_dtypes((decayed - lr / (1 - beta1_power * beta1) * mean / denominator, mean, square), out)


@reference("npu::npu_bert_apply_adam.out", dtypes={"grad": FLOATS, "out": FLOATS}, writes=("out",))
def npu_bert_apply_adam_out(
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    max_grad_norm: float,
    global_grad_norm: float,
    weight_decay: float,
    step_size: float | None = None,
    adam_mode: int = 0,
    *,
    out: Sequence[Tensor],
) -> Step:
    """BERT's Adam without bias correction: weight decay is added to the update, which is times lr."""
    if adam_mode != 0 or max_grad_norm > 0:
        raise NotImplementedError("the NPU simulator lacks npu_bert_apply_adam with adam_mode 1 or a clipped norm")
    var, m, v = out
    mean, square = _update_moments(m, v, as_wide(grad), beta1, beta2)
    update = mean / (square.sqrt() + epsilon) + weight_decay * as_wide(var)
    return _same_dtypes((as_wide(var) - lr * update, mean, square), out)
