"""Choosing experts by score, in groups. Formula: npu_moe_gating_top_k.md, npu_moe_gating_top_k_softmax_v2."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .numeric import as_wide, compute_gradients
from .registry import FLOATS, reference

SOFTMAX, SIGMOID = 0, 1


@reference("npu::npu_moe_gating_top_k_softmax_v2", dtypes={"x": FLOATS, "finished": (torch.bool,)})
def npu_moe_gating_top_k_softmax_v2(
    x: Tensor,
    *,
    k: int = 1,
    finished: Tensor | None = None,
    renorm: int | None = 0,
    output_softmax: bool | None = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """(k scores, their experts, the softmax or nothing): softmax before the choice, or after it with renorm 1.

    The whole softmax is given in float32 where it comes first and is asked for.
    """
    if renorm not in (None, 0, 1):
        raise RuntimeError(f"renorm must be 0 or 1, but got: {renorm}")
    scores = as_wide(x) if renorm else as_wide(x).softmax(-1)
    values, experts = scores.sort(dim=-1, descending=True, stable=True)
    values, experts = values[..., :k], experts[..., :k].to(torch.int32)
    if finished is not None:
        experts = experts.masked_fill(finished[..., None], x.shape[-1])
    values = values.softmax(-1) if renorm else values
    third = scores.float() if output_softmax and not renorm else x.new_empty(0, dtype=torch.float32)
    return values.to(x.dtype).contiguous(), experts.contiguous(), third


def _mask_groups(scores: Tensor, groups: int, chosen: int, mode: int) -> Tensor:
    """Set scores outside of the best groups to -inf; a group counts its best score, or the sum of its best two."""
    if groups <= 1:
        return scores
    parts = scores.unflatten(-1, (groups, -1))
    of_group = parts.amax(-1) if mode == 0 else parts.topk(2, -1)[0].sum(-1)
    best = of_group.sort(dim=-1, descending=True, stable=True)[1][:, :chosen]
    allowed = torch.zeros_like(of_group, dtype=torch.bool).scatter(1, best, True)
    return parts.masked_fill(~allowed[..., None], -math.inf).flatten(1)


def _scale_output(norm: Tensor, experts: Tensor, norm_type: int, factor: float, eps: float) -> Tensor:
    picked = norm.gather(1, experts.long())
    picked = picked / (picked.sum(-1, keepdim=True) + eps) if norm_type == SIGMOID else picked
    return picked * factor


@reference("npu::npu_moe_gating_top_k", dtypes={"x": FLOATS, "bias": FLOATS})
def npu_moe_gating_top_k(
    x: Tensor,
    k: int,
    *,
    bias: Tensor | None = None,
    k_group: int = 1,
    group_count: int = 1,
    group_select_mode: int = 0,
    renorm: int = 0,
    norm_type: int = 0,
    out_flag: bool = False,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> tuple[Tensor, Tensor, Tensor]:
    """(weights of the k experts, the experts, all scores in float32); a bias changes the choice, not the weights."""
    if renorm:
        raise NotImplementedError("the NPU simulator lacks npu_moe_gating_top_k with renorm")
    norm = torch.sigmoid(as_wide(x)) if norm_type == SIGMOID else as_wide(x).softmax(-1)
    scores = norm if bias is None else norm + as_wide(bias)
    order = _mask_groups(scores, group_count, k_group, group_select_mode).sort(dim=-1, descending=True, stable=True)[1]
    experts = order[:, :k].to(torch.int32).contiguous()
    y = _scale_output(norm, experts, norm_type, routed_scaling_factor, eps).to(x.dtype)
    return y, experts, norm.to(torch.float32)


@reference("npu::npu_moe_gating_top_k_backward", dtypes={"grad_y": FLOATS})
def npu_moe_gating_top_k_backward(
    x_norm: Tensor,
    grad_y: Tensor,
    expertIdx: Tensor,
    *,
    renorm: int = 0,
    norm_type: int = 0,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> Tensor:
    """Of the scores with norm_type 1, the only one that the operator knows."""
    if norm_type != SIGMOID:
        raise RuntimeError("npu_moe_gating_top_k_backward supports norm_type 1 (sigmoid) only")

    def run_forward(norm: Tensor) -> Tensor:
        return _scale_output(norm, expertIdx, norm_type, routed_scaling_factor, eps)

    inner = compute_gradients(run_forward, [x_norm], [grad_y])[0]
    assert inner is not None
    return (inner * x_norm * (1 - x_norm)).to(grad_y.dtype)
