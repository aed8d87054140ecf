"""Losses. Formulas: npu_cross_entropy_loss.md, npu_softmax_cross_entropy_with_logits.md; else PyTorch's own.

Cross entropy over a vocabulary split among cards: what runs before and after the cards' all_reduce.

npu_fused_linear_online_max_sum.md, npu_fused_cross_entropy_loss_with_max_sum.md and
npu_fused_linear_cross_entropy_loss_with_max_sum_backward.md (registry.DOCUMENTS). Where those leave it open, as the
operators' kernels have it (https://gitcode.com/cann/ops-nn, matmul/fused_linear_online_max_sum and
fused_linear_cross_entropy_loss_grad): the end of the vocabulary is the first index beyond it, although the page says
"greater than"; the low bit of a byte of the mask is its first row; logits and their gradient are rounded to the
inputs' dtype before they are used.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .dropout import WEIGHTS
from .numeric import as_wide, compute_gradients
from .registry import FLOATS, HALVES, Arguments, reference, takes

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


INDICES = (torch.int32, torch.int64)
ONE = (torch.float32,)
SMALLEST_VOCABULARY = 128


def _no_smoothing(name: str, label_smoothing: float | None) -> None:
    if label_smoothing:
        raise RuntimeError(f"{name}: label_smoothing only supports 0.0, but got {label_smoothing}")


def _same_dtype(name: str, input: Tensor, weight: Tensor) -> None:
    if input.dtype != weight.dtype or input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            f"{name}: input ({tuple(input.shape)}, {input.dtype}) and weight ({tuple(weight.shape)}, {weight.dtype}) "
            "must have one dtype and one size in dimension 1"
        )


def _compute_logits(input: Tensor, weight: Tensor) -> Tensor:
    return (as_wide(input) @ as_wide(weight).t()).to(input.dtype)


@reference("npu::npu_fused_linear_online_max_sum", dtypes={"input": HALVES, "weight": HALVES, "target": INDICES})
@takes(
    "Tensor input, Tensor weight, Tensor target, int vocab_start_index, int vocab_end_index, bool return_logits=False"
)
def npu_fused_linear_online_max_sum(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """(max, sum of exponentials, the target's logit less the max, mask in bits, target from start, logits or None)."""
    name = "npu_fused_linear_online_max_sum"
    _same_dtype(name, call.input, call.weight)
    if not 0 <= call.vocab_start_index <= call.vocab_end_index:
        raise RuntimeError(f"{name}: must be 0 <= vocab_start_index {call.vocab_start_index} <= {call.vocab_end_index}")
    logits = _compute_logits(call.input, call.weight)
    largest = as_wide(logits).amax(-1)
    shifted = as_wide(logits) - largest[:, None]
    mask = (call.target < call.vocab_start_index) | (call.target >= call.vocab_end_index)
    local = torch.where(mask, 0, call.target - call.vocab_start_index)
    if local.numel() and int(local.max()) >= call.weight.shape[0]:
        rows = call.weight.shape[0]
        raise RuntimeError(f"{name}: vocab_end_index {call.vocab_end_index} is beyond the {rows} rows of weight")
    predicted = torch.where(mask, 0.0, shifted.gather(1, local.long()[:, None])[:, 0])
    bits = torch.ones(-(-mask.numel() // 8) * 8, dtype=torch.uint8)
    bits[: mask.numel()] = mask
    packed = (bits.reshape(-1, 8) * torch.tensor(WEIGHTS, dtype=torch.uint8)).sum(-1, dtype=torch.uint8)
    local = local.to(call.target.dtype)
    return largest, shifted.exp().sum(-1), predicted, packed, local, logits if call.return_logits else None


@reference(
    "npu::npu_fused_cross_entropy_loss_with_max_sum",
    dtypes={"logits_max": ONE, "sum_exp_logits": ONE, "predicted_logits": ONE, "vocab_parallel_logits": FLOATS},
)
@takes(
    "Tensor logits_max, Tensor sum_exp_logits, Tensor predicted_logits, *, float? label_smoothing=0.0, "
    "Tensor? vocab_parallel_logits=None"
)
def npu_fused_cross_entropy_loss_with_max_sum(call: Arguments) -> tuple[Tensor, Tensor | None]:
    """(loss of each row, softmax of the logits or None), in float32."""
    name = "npu_fused_cross_entropy_loss_with_max_sum"
    _no_smoothing(name, call.label_smoothing)
    if not call.logits_max.shape == call.sum_exp_logits.shape == call.predicted_logits.shape:
        raise RuntimeError(f"{name}: logits_max, sum_exp_logits and predicted_logits must have one shape")
    loss = call.sum_exp_logits.log() - call.predicted_logits
    if call.vocab_parallel_logits is None:
        return loss, None
    return loss, _compute_softmax(as_wide(call.vocab_parallel_logits), call.logits_max, call.sum_exp_logits)


def _compute_softmax(logits: Tensor, largest: Tensor, total: Tensor) -> Tensor:
    return (logits - largest[:, None]).exp() / total[:, None]


@reference(
    "npu::npu_fused_linear_cross_entropy_loss_with_max_sum_backward",
    dtypes={
        **dict.fromkeys(("grad", "logits_max", "sum_exp_logits", "softmax"), ONE),
        **dict.fromkeys(("input", "weight"), HALVES),
        "target_mask": (torch.uint8,),
        "masked_target": INDICES,
    },
)
@takes(
    "Tensor grad, Tensor input, Tensor weight, Tensor target_mask, Tensor masked_target, float label_smoothing=0.0, "
    "Tensor? logits_max=None, Tensor? sum_exp_logits=None, Tensor? softmax=None"
)
def npu_fused_linear_cross_entropy_loss_with_max_sum_backward(call: Arguments) -> tuple[Tensor, Tensor]:
    """(gradient of input, of weight): from the softmax where given, else from the logits computed again."""
    name = "npu_fused_linear_cross_entropy_loss_with_max_sum_backward"
    input, weight, count = call.input, call.weight, call.grad.numel()
    _no_smoothing(name, call.label_smoothing)
    _same_dtype(name, input, weight)
    if weight.shape[0] < SMALLEST_VOCABULARY:
        raise RuntimeError(f"{name}: dimension 0 of weight must be at least 128, but got {weight.shape[0]}")
    if call.target_mask.numel() * 8 < count:
        raise RuntimeError(f"{name}: target_mask of {call.target_mask.numel()} bytes holds less than {count} rows")
    if call.softmax is None:
        if call.logits_max is None or call.sum_exp_logits is None:
            raise RuntimeError(f"{name}: without softmax, logits_max and sum_exp_logits must be given")
        logits = as_wide(_compute_logits(input, weight))
        call.softmax = _compute_softmax(logits, call.logits_max, call.sum_exp_logits)
    bits = ((call.target_mask[:, None] & torch.tensor(WEIGHTS, dtype=torch.uint8)) != 0).flatten()[:count]
    dlogits = call.softmax.clone()
    dlogits[torch.arange(count), call.masked_target.long()] -= (~bits).float()
    dlogits = as_wide((dlogits * call.grad[:, None]).to(input.dtype))
    return (dlogits @ as_wide(weight)).to(input.dtype), (dlogits.t() @ as_wide(input)).to(weight.dtype)
