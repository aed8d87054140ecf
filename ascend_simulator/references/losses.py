"""Losses. Formulas: npu_cross_entropy_loss.md, npu_softmax_cross_entropy_with_logits.md; else PyTorch's own."""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide, compute_gradients
from .registry import FLOATS, Arguments, reference, takes

MEAN, SUM = 1, 2


def _cross_entropy(
    log_prob: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore: int, smoothing: float
) -> Tensor:
    classes = log_prob.shape[1]
    per_class = log_prob.new_ones(classes) if weight is None else weight.to(log_prob.dtype)
    rows, smooth = per_class[target], -(log_prob * per_class).sum(1)
    if ignore >= 0:  # a negative index ignores nothing
        rows, smooth = rows * (target != ignore), smooth * (target != ignore)
    picked = -log_prob.gather(1, target[:, None])[:, 0] * rows
    loss = (1 - smoothing) * picked + smoothing / classes * smooth
    if reduction == "none":
        return loss
    return (loss.sum() / rows.sum() if reduction == "mean" else loss.sum()).reshape(1)


def _check_loss(target: Tensor, reduction: str, scale: float, zloss: bool) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise RuntimeError(f"reduction should be mean, sum or none, but got {reduction}")
    if scale or zloss:
        raise RuntimeError("lse_square_scale_for_zloss and return_zloss are not enabled in npu_cross_entropy_loss")
    if target.dtype != torch.int64:
        raise RuntimeError(f"the target of npu_cross_entropy_loss must be int64, but got {target.dtype}")


@reference("npu::npu_cross_entropy_loss", dtypes={"input": FLOATS, "weight": (torch.float32,)})
@takes(
    'Tensor input, Tensor target, Tensor? weight=None, str reduction="mean", int ignore_index=-100, '
    "float label_smoothing=0.0, float lse_square_scale_for_zloss=0.0, bool return_zloss=False"
)
def npu_cross_entropy_loss(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(loss of shape [1] or [N], log probabilities, two empty tensors)."""
    _check_loss(call.target, call.reduction, call.lse_square_scale_for_zloss, call.return_zloss)
    log_prob = as_wide(call.input).log_softmax(1)
    loss = _cross_entropy(log_prob, call.target, call.weight, call.reduction, call.ignore_index, call.label_smoothing)
    return loss.to(call.input.dtype), log_prob.to(call.input.dtype), call.input.new_empty(0), call.input.new_empty(0)


@reference("npu::npu_cross_entropy_loss_backward", dtypes={"grad_loss": FLOATS, "log_prob": FLOATS})
@takes(
    "Tensor grad_loss, Tensor log_prob, Tensor target, Tensor? weight=None, Tensor? grad_zloss=None, "
    'Tensor? lse_for_zloss=None, str reduction="mean", int ignore_index=-100, float label_smoothing=0.0, '
    "float lse_square_scale_for_zloss=0.0"
)
def npu_cross_entropy_loss_backward(call: Arguments) -> Tensor:
    def run_forward(values: Tensor) -> Tensor:
        return _cross_entropy(values, call.target, call.weight, call.reduction, call.ignore_index, call.label_smoothing)

    inner = compute_gradients(run_forward, [call.log_prob.float()], [call.grad_loss])[0]
    assert inner is not None
    return (inner - as_wide(call.log_prob).exp() * inner.sum(1, keepdim=True)).to(call.log_prob.dtype)


@reference("npu::npu_softmax_cross_entropy_with_logits", dtypes={"input": FLOATS, "labels": FLOATS})
def npu_softmax_cross_entropy_with_logits(input: Tensor, labels: Tensor) -> Tensor:
    """-sum(labels * log_softmax(input)) of each row."""
    return -(as_wide(labels) * as_wide(input).log_softmax(-1)).sum(-1).to(input.dtype)


@reference("npu::npu_softmax_cross_entropy_with_logits_backward", dtypes={"input": FLOATS, "labels": FLOATS})
def npu_softmax_cross_entropy_with_logits_backward(grad: Tensor, input: Tensor, labels: Tensor) -> Tensor:
    """As TensorFlow's kernel: softmax - labels, which takes the labels of a row to sum to one."""
    return (as_wide(grad)[:, None] * (as_wide(input).softmax(-1) - as_wide(labels))).to(input.dtype)


def _spread_gradient(grad: Tensor, count: int, reduction: int) -> Tensor:
    return as_wide(grad) / count if reduction == MEAN else as_wide(grad)


@reference("npu::npu_binary_cross_entropy_with_logits_backward", dtypes={"input": FLOATS})
@takes("Tensor grad_output, Tensor input, Tensor target, Tensor? weight_opt, Tensor? pos_weight_opt, int reduction")
def npu_binary_cross_entropy_with_logits_backward(call: Arguments) -> Tensor:
    gate, wanted = torch.sigmoid(as_wide(call.input)), as_wide(call.target)
    positive = 1.0 if call.pos_weight_opt is None else as_wide(call.pos_weight_opt)
    inner = gate * (1 - wanted) - positive * wanted * (1 - gate)
    inner = inner if call.weight_opt is None else inner * as_wide(call.weight_opt)
    return (inner * _spread_gradient(call.grad_output, call.input.numel(), call.reduction)).to(call.input.dtype)


@reference("npu::kl_div_backward", dtypes={"input": FLOATS})
def kl_div_backward(
    grad_output: Tensor, input: Tensor, target: Tensor, reduction: int = MEAN, *, log_target: bool = False
) -> Tensor:
    inner = -as_wide(target).exp() if log_target else -as_wide(target).clamp(min=0)
    return (inner * _spread_gradient(grad_output, input.numel(), reduction)).expand_as(input).to(input.dtype)


@reference("npu::kl_div_target_backward", dtypes={"input": FLOATS})
def kl_div_target_backward(
    grad_output: Tensor, input: Tensor, target: Tensor, reduction: int = MEAN, *, log_target: bool = False
) -> Tensor:
    wanted = as_wide(target)
    if log_target:
        inner = wanted.exp() * (wanted + 1 - as_wide(input))
    else:
        inner = torch.where(wanted > 0, wanted.log() + 1 - as_wide(input), wanted.new_zeros(()))
    return (inner * _spread_gradient(grad_output, target.numel(), reduction)).to(target.dtype)


@reference("npu::l1_loss_backward", dtypes={"input": FLOATS})
def l1_loss_backward(grad_output: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor:
    difference = as_wide(input) - as_wide(target)
    return (difference.sign() * _spread_gradient(grad_output, difference.numel(), reduction)).to(input.dtype)
