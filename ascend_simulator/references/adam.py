"""Adam's steps as one operator, in place. Formulas: npu_apply_adam.md, npu_bert_apply_adam.md, npu_apply_adam_w."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, Arguments, reference, takes

Step = tuple[Tensor, Tensor, Tensor]


def _update_moments(m: Tensor, v: Tensor, grad: Tensor, beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
    return beta1 * as_wide(m) + (1 - beta1) * grad, beta2 * as_wide(v) + (1 - beta2) * grad.square()


def _same_dtypes(step: Step, like: Sequence[Tensor]) -> Step:
    first, second, third = (value.to(tensor.dtype) for value, tensor in zip(step, like))
    return first, second, third


@reference("npu::npu_apply_adam.out", dtypes={"grad": FLOATS, "out": FLOATS}, writes=("out",))
@takes(
    "float beta1_power, float beta2_power, float lr, float beta1, float beta2, float epsilon, Tensor grad, "
    "bool? use_locking, bool? use_nesterov, *, Tensor[] out"
)
def npu_apply_adam_out(call: Arguments) -> Step:
    """TensorFlow's ApplyAdam: the rate is lr * sqrt(1 - beta2_power) / (1 - beta1_power), epsilon outside the root."""
    var, m, v = call.out
    gradient = as_wide(call.grad)
    mean, square = _update_moments(m, v, gradient, call.beta1, call.beta2)
    rate = gradient.new_tensor(call.lr * (1 - call.beta2_power) ** 0.5) / (1 - call.beta1_power)
    direction = call.beta1 * mean + (1 - call.beta1) * gradient if call.use_nesterov else mean
    return _same_dtypes((as_wide(var) - rate * direction / (square.sqrt() + call.epsilon), mean, square), call.out)


@reference("npu::npu_apply_adam_w.out", dtypes={"grad": FLOATS, "out": FLOATS}, writes=("out",))
@takes(
    "float beta1_power, float beta2_power, float lr, float weight_decay, float beta1, float beta2, float epsilon, "
    "Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize, *, Tensor[] out"
)
def npu_apply_adam_w_out(call: Arguments) -> Step:
    """AdamW. The powers are those before this step; `max_grad_norm` holds AMSGrad's largest second moment."""
    if call.amsgrad and call.max_grad_norm is None:
        raise RuntimeError("if amsgrad is true, max_gard_norm input must be entered")
    var, m, v = call.out
    mean, square = _update_moments(
        m, v, -as_wide(call.grad) if call.maximize else as_wide(call.grad), call.beta1, call.beta2
    )
    largest = torch.maximum(as_wide(call.max_grad_norm), square) if call.amsgrad else square
    denominator = (largest / (1 - call.beta2_power * call.beta2)).sqrt() + call.epsilon
    decayed = as_wide(var) * (1 - call.lr * call.weight_decay)
    return _same_dtypes(
        (decayed - call.lr / (1 - call.beta1_power * call.beta1) * mean / denominator, mean, square), call.out
    )


@reference("npu::npu_bert_apply_adam.out", dtypes={"grad": FLOATS, "out": FLOATS}, writes=("out",))
@takes(
    "float lr, float beta1, float beta2, float epsilon, Tensor grad, float max_grad_norm, float global_grad_norm, "
    "float weight_decay, float? step_size=None, int adam_mode=0, *, Tensor[] out"
)
def npu_bert_apply_adam_out(call: Arguments) -> Step:
    """BERT's Adam without bias correction: weight decay is added to the update, which is times lr."""
    if call.adam_mode != 0 or call.max_grad_norm > 0:
        raise NotImplementedError("the NPU simulator lacks npu_bert_apply_adam with adam_mode 1 or a clipped norm")
    var, m, v = call.out
    mean, square = _update_moments(m, v, as_wide(call.grad), call.beta1, call.beta2)
    update = mean / (square.sqrt() + call.epsilon) + call.weight_decay * as_wide(var)
    return _same_dtypes((as_wide(var) - call.lr * update, mean, square), call.out)
