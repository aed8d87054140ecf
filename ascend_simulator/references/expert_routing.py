"""Choosing experts by score, in groups. Formula: npu_moe_gating_top_k.md, npu_moe_gating_top_k_softmax_v2.

Sending tokens to experts: torch_npu.npu_moe_init_routing_v2 and npu_moe_init_routing_quant.

Formulas and limits: npu_moe_init_routing_v2.md (registry.DOCUMENTS), whose formulas aclnnMoeInitRoutingQuantV2 shares.
Rows beyond those of active experts are zero. What the hardware leaves unwritten is nan in float32 and -1 in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .numeric import as_wide, compute_gradients
from .registry import FLOATS, Arguments, reference, takes

SOFTMAX, SIGMOID = 0, 1


@reference("npu::npu_moe_gating_top_k_softmax_v2", dtypes={"x": FLOATS, "finished": (torch.bool,)})
@takes("Tensor x, *, int k=1, Tensor? finished=None, int? renorm=0, bool? output_softmax=False")
def npu_moe_gating_top_k_softmax_v2(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(k scores, their experts, the softmax or nothing): softmax before the choice, or after it with renorm 1.

    The whole softmax is given in float32 where it comes first and is asked for.
    """
    if call.renorm not in (None, 0, 1):
        raise RuntimeError(f"renorm must be 0 or 1, but got: {call.renorm}")
    scores = as_wide(call.x) if call.renorm else as_wide(call.x).softmax(-1)
    values, experts = scores.sort(dim=-1, descending=True, stable=True)
    values, experts = values[..., : call.k], experts[..., : call.k].to(torch.int32)
    if call.finished is not None:
        experts = experts.masked_fill(call.finished[..., None], call.x.shape[-1])
    values = values.softmax(-1) if call.renorm else values
    third = scores.float() if call.output_softmax and not call.renorm else call.x.new_empty(0, dtype=torch.float32)
    return values.to(call.x.dtype).contiguous(), experts.contiguous(), third


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
@takes(
    "Tensor x, int k, *, Tensor? bias=None, int k_group=1, int group_count=1, int group_select_mode=0, int renorm=0, "
    "int norm_type=0, bool out_flag=False, float routed_scaling_factor=1.0, float eps=1e-20"
)
def npu_moe_gating_top_k(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(weights of the k experts, the experts, all scores in float32); a bias changes the choice, not the weights."""
    if call.renorm:
        raise NotImplementedError("the NPU simulator lacks npu_moe_gating_top_k with renorm")
    norm = torch.sigmoid(as_wide(call.x)) if call.norm_type == SIGMOID else as_wide(call.x).softmax(-1)
    scores = norm if call.bias is None else norm + as_wide(call.bias)
    order = _mask_groups(scores, call.group_count, call.k_group, call.group_select_mode).sort(
        dim=-1, descending=True, stable=True
    )[1]
    experts = order[:, : call.k].to(torch.int32).contiguous()
    y = _scale_output(norm, experts, call.norm_type, call.routed_scaling_factor, call.eps).to(call.x.dtype)
    return y, experts, norm.to(torch.float32)


@reference("npu::npu_moe_gating_top_k_backward", dtypes={"grad_y": FLOATS})
@takes(
    "Tensor x_norm, Tensor grad_y, Tensor expertIdx, *, int renorm=0, int norm_type=0, "
    "float routed_scaling_factor=1.0, float eps=1e-20"
)
def npu_moe_gating_top_k_backward(call: Arguments) -> Tensor:
    """Of the scores with norm_type 1, the only one that the operator knows."""
    if call.norm_type != SIGMOID:
        raise RuntimeError("npu_moe_gating_top_k_backward supports norm_type 1 (sigmoid) only")

    def run_forward(norm: Tensor) -> Tensor:
        return _scale_output(norm, call.expertIdx, call.norm_type, call.routed_scaling_factor, call.eps)

    inner = compute_gradients(run_forward, [call.x_norm], [call.grad_y])[0]
    assert inner is not None
    return (inner * call.x_norm * (1 - call.x_norm)).to(call.grad_y.dtype)


TOKENS = (*FLOATS, torch.int8)
STATIC, DYNAMIC = 0, 1


@dataclass(frozen=True)
class Route:
    """Choices (T, K) of experts sorted: `order` holds choices, `experts` theirs; the first `count` are of the range.

    Behind them come the choices of higher experts, then those of lower ones.
    """

    order: Tensor
    experts: Tensor
    count: int
    start: int
    end: int

    @property
    def places(self) -> Tensor:
        """Return for each choice where it went; -1 if its expert is out of the range."""
        places = torch.full_like(self.order, -1)
        places[self.order[: self.count]] = torch.arange(self.count, device=self.order.device)
        return places.to(torch.int32)

    @property
    def counts(self) -> Tensor:
        """Return the number of choices of each expert of the range."""
        return torch.bincount(self.experts[: self.count] - self.start, minlength=self.end - self.start)

    def place_in_capacity(self, capacity: int) -> Tensor:
        """Return the place in (experts, capacity) of each sorted choice of the range; -1 where its expert is full."""
        first = self.counts.cumsum(0) - self.counts
        experts = self.experts[: self.count] - self.start
        rank = torch.arange(self.count, device=self.order.device) - first[experts]
        return torch.where(rank < capacity, experts * capacity + rank, -1)


def route_choices(expert_idx: Tensor, start: int, end: int) -> Route:
    flat = expert_idx.flatten().long()
    inside = (flat >= start) & (flat < end)
    order = torch.where(flat < start, torch.iinfo(torch.int32).max, flat).sort(stable=True)[1]
    return Route(order, flat[order], int(inside.sum()), start, end)


def _quantise_rows(rows: Tensor, call: Arguments, experts: Tensor) -> tuple[Tensor, Tensor]:
    """Return (int8 rows, the scale of each row, nan if it is given); `experts` from 0, for a scale by expert."""
    rows, scale = as_wide(rows), call.scale
    if call.quant_mode == STATIC:
        rows = rows * scale + (0.0 if call.offset is None else call.offset)
        return rows.round().clamp(-128, 127).to(torch.int8), rows.new_full(rows.shape[:1], float("nan"))
    if scale is not None:
        rows = rows * (scale if scale.shape[0] == 1 else scale[experts])
    scales = rows.abs().amax(-1) / 127
    divided = torch.where(scales[:, None] == 0, 0.0, rows / scales[:, None])
    return divided.round().clamp(-128, 127).to(torch.int8), scales


def _check_quantisation(name: str, call: Arguments, experts: int) -> None:
    x, mode, scale, offset = call.x, call.quant_mode, call.scale, call.offset
    if x.dtype == torch.int8:
        raise RuntimeError(f"{name}: a result of int8 tokens in quant_mode {mode} has no meaning")
    if mode == STATIC and (scale is None or scale.shape != (1,) or offset is None or offset.shape != (1,)):
        raise RuntimeError(f"{name}: quant_mode 0 needs scale and offset of shape (1)")
    if mode == DYNAMIC and scale is not None and list(scale.shape) not in ([experts, x.shape[1]], [1, x.shape[1]]):
        raise RuntimeError(f"{name}: quant_mode 1 takes scale ({experts} or 1, {x.shape[1]}), got {list(scale.shape)}")
    if mode == DYNAMIC and offset is not None:
        raise RuntimeError(f"{name}: quant_mode 1 takes no offset")


def _pad_rows(rows: Tensor, length: int, value: float = 0.0) -> Tensor:
    result = rows.new_full((length, *rows.shape[1:]), value)
    result[: rows.shape[0]] = rows
    return result


@reference(
    "npu::npu_moe_init_routing_v2",
    dtypes={"x": TOKENS, "expert_idx": (torch.int32,), "scale": (torch.float32,), "offset": (torch.float32,)},
)
@takes(
    "Tensor x, Tensor expert_idx, *, Tensor? scale=None, Tensor? offset=None, int active_num=-1, "
    "int expert_capacity=-1, int expert_num=-1, int drop_pad_mode=0, int expert_tokens_num_type=0, "
    "bool expert_tokens_num_flag=False, int quant_mode=-1, int[] active_expert_range=[], int row_idx_type=0"
)
def npu_moe_init_routing_v2(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(tokens by expert, where each choice went or came from, tokens of each expert, scale of each row)."""
    name = "npu_moe_init_routing_v2"
    start, end = call.active_expert_range or (0, call.expert_num)
    _check_modes(name, call.drop_pad_mode, call.quant_mode, (-1, STATIC, DYNAMIC))
    if not 0 <= start < end <= call.expert_num:
        raise RuntimeError(f"{name}: active_expert_range {[start, end]} of {call.expert_num} experts")
    kind = call.expert_tokens_num_type
    if call.row_idx_type not in (0, 1) or kind not in (0, 1, 2):
        raise RuntimeError(f"{name}: row_idx_type {call.row_idx_type}, expert_tokens_num_type {kind}")
    if call.x.shape[0] == 0 and call.quant_mode != STATIC:
        call.scale = None
    elif call.quant_mode != -1:
        _check_quantisation(name, call, end - start)
    elif call.offset is not None or (call.scale is not None and call.scale.shape != call.x.shape[:1]):
        raise RuntimeError(f"{name}: quant_mode -1 takes scale of shape ({call.x.shape[0]}) and no offset")
    route = route_choices(call.expert_idx, start, end)
    if call.drop_pad_mode == 1:
        if (start, end) != (0, call.expert_num) or call.row_idx_type != 0 or kind != 1:
            raise RuntimeError(f"{name}: drop_pad_mode 1 takes all experts, row_idx_type 0, expert_tokens_num_type 1")
        tokens, rows, scales = _into_capacity(call, route)
    else:
        tokens, scales = _in_order(call, route, _active_rows(call))
        rows = route.order.to(torch.int32) if call.row_idx_type == 1 else route.places
    counts = route.counts  # sums up to each expert (kind 0), numbers (1), or pairs (expert, number) of those used (2)
    if kind == 2:
        used = counts.nonzero().flatten()
        counts = _pad_rows(torch.stack((used + start, counts[used]), -1), call.expert_num)
    counts = counts.cumsum(0) if kind == 0 else counts
    return tokens, rows, counts if call.expert_tokens_num_flag else torch.full_like(counts, -1), scales


def _active_rows(call: Arguments) -> int:
    choices = int(call.expert_idx.numel())
    return choices if call.active_num <= 0 else min(call.active_num, choices)


def _check_modes(name: str, drop_pad_mode: int, quant_mode: int, known: Sequence[int]) -> None:
    if drop_pad_mode not in (0, 1):
        raise RuntimeError(f"{name}: drop_pad_mode must be 0 or 1, but got: {drop_pad_mode}")
    if quant_mode not in known:
        raise NotImplementedError(f"the NPU simulator lacks {name} with quant_mode {quant_mode}")


def _in_order(call: Arguments, route: Route, length: int) -> tuple[Tensor, Tensor]:
    x, scale, count = call.x, call.scale, min(length, route.count)
    source = route.order[:count] // max(call.expert_idx.shape[1], 1)
    if call.quant_mode != -1:
        tokens, scales = _quantise_rows(x[source], call, route.experts[:count] - route.start)
    else:
        tokens = x[source]
        scales = x.new_empty(0, dtype=torch.float32) if scale is None else scale[source]
    return _pad_rows(tokens, length), _pad_rows(scales, length, float("nan"))


def _into_capacity(call: Arguments, route: Route) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens (experts, capacity, H); what an expert cannot take is dropped, its place is -1."""
    x, capacity, mode = call.x, call.expert_capacity, call.quant_mode
    if not 0 < capacity <= x.shape[0]:
        raise RuntimeError(f"expert_capacity must be from 1 to {x.shape[0]}, but got {capacity}")
    slots = route.place_in_capacity(capacity)
    placed_rows, total = slots >= 0, (route.end - route.start) * capacity
    tokens, scales = _in_order(call, route, route.count)
    placed = tokens.new_zeros(total, x.shape[1])
    placed[slots[placed_rows]] = tokens[placed_rows]
    written = mode == DYNAMIC or (mode == -1 and call.scale is not None)
    whole = scales.new_full((total,), 0.0 if written else float("nan"))
    whole[slots[placed_rows]] = scales[placed_rows]
    rows = torch.full_like(route.order, -1)
    rows[route.order[: route.count]] = slots
    return placed.unflatten(0, (-1, capacity)), rows.to(torch.int32), whole


@reference(
    "npu::npu_moe_init_routing_quant",
    dtypes={"x": FLOATS, "expert_idx": (torch.int32,), "scale": (torch.float32,), "offset": (torch.float32,)},
)
@takes(
    "Tensor x, Tensor expert_idx, *, Tensor? scale=None, Tensor? offset=None, int active_num=1024, "
    "int expert_capacity=0, int expert_num=256, int drop_pad_mode=0, int expert_tokens_num_mode=0, "
    "bool expert_tokens_before_capacity_flag=False, int quant_mode=1"
)
def npu_moe_init_routing_quant(call: Arguments) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """(int8 tokens by expert, where each choice went, sums (mode 1) or numbers (2), numbers before, scale of rows)."""
    name = "npu_moe_init_routing_quant"
    _check_modes(name, call.drop_pad_mode, call.quant_mode, (STATIC, DYNAMIC))
    _check_quantisation(name, call, call.expert_num)
    if call.expert_tokens_num_mode not in (0, 1, 2):
        raise RuntimeError(f"{name}: expert_tokens_num_mode must be 0, 1, or 2, but got: {call.expert_tokens_num_mode}")
    route = route_choices(call.expert_idx, 0, call.expert_num)
    counts = route.counts.to(torch.int32)
    if call.drop_pad_mode == 1:
        tokens, rows, scales = _into_capacity(call, route)
        before = counts if call.expert_tokens_before_capacity_flag else None
        return tokens, rows, None, before, scales if call.quant_mode == DYNAMIC else None
    tokens, scales = _in_order(call, route, _active_rows(call))
    whole = {0: None, 1: counts.cumsum(0, dtype=torch.int32), 2: counts}[call.expert_tokens_num_mode]
    return tokens, route.places, whole, None, scales if call.quant_mode == DYNAMIC else None
