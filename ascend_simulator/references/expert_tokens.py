"""Mixtures of experts: choosing experts, moving tokens to them and back.

Formulas: npu_moe_gating_top_k_softmax.md, npu_moe_init_routing.md, npu_moe_compute_expert_tokens.md,
npu_moe_finalize_routing.md (registry.DOCUMENTS); tokens are permuted as in Megatron-LM's permute and unpermute
(https://github.com/NVIDIA/Megatron-LM, megatron/core/transformer/moe/moe_utils.py).

Tokens to experts and back by a map (token, expert) of bools, without dropping or padding.

Formulas: npu_moe_token_permute_with_routing_map; Megatron-LM's permute and unpermute
(https://github.com/NVIDIA/Megatron-LM, megatron/core/transformer/moe/moe_utils.py). drop_and_pad is raised.

Tokens that came from other ranks, in the order of their experts: npu_moe_re_routing.md (registry.DOCUMENTS).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, Arguments, reference, takes


@reference("npu::npu_moe_gating_top_k_softmax", dtypes={"x": FLOATS, "finished": (torch.bool,)})
def npu_moe_gating_top_k_softmax(
    x: Tensor, finished: Tensor | None = None, k: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """(the k largest probabilities, their experts, row numbers); a finished row's experts are the number of experts."""
    values, experts = as_wide(x).softmax(-1).sort(dim=-1, descending=True, stable=True)
    values, experts = values[..., :k].to(x.dtype), experts[..., :k].to(torch.int32)
    if finished is not None:
        experts = experts.masked_fill(finished[..., None], x.shape[-1])
    count = experts[..., 0].numel()  # row i, choice j has the number j * count + i
    rows = torch.arange(count * k, dtype=torch.int32, device=x.device).reshape(k, count).t().contiguous()
    return values.contiguous(), experts.contiguous(), rows.reshape(experts.shape)


@reference("npu::npu_moe_init_routing", dtypes={"x": FLOATS})
def npu_moe_init_routing(
    x: Tensor, row_idx: Tensor, expert_idx: Tensor, active_num: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(tokens in the order of their experts, where each row number went, the sorted experts)."""
    sorted_experts, order = expert_idx.flatten().sort(stable=True)
    source = row_idx.flatten()[order].long()
    places = torch.zeros_like(source)
    places[source] = torch.arange(source.numel(), device=x.device)
    count = min(active_num, x.shape[0]) * expert_idx.shape[-1]
    return x[source[:count] % x.shape[0]], places.to(torch.int32), sorted_experts.to(torch.int32)


@reference("npu::npu_moe_compute_expert_tokens")
def npu_moe_compute_expert_tokens(sorted_expert_for_source_row: Tensor, num_expert: int) -> Tensor:
    """How many rows belong to experts up to each one."""
    rows = sorted_expert_for_source_row
    experts = torch.arange(num_expert, dtype=rows.dtype, device=rows.device)
    return torch.searchsorted(rows, experts, right=True).to(torch.int32)


@reference("npu::npu_moe_finalize_routing", dtypes={"expanded_permuted_rows": FLOATS})
@takes(
    "Tensor expanded_permuted_rows, Tensor? skip1, Tensor? skip2, Tensor? bias, Tensor? scales, "
    "Tensor expanded_src_to_dst_row, Tensor? export_for_source_row, int? drop_pad_mode=0, int? k=1"
)
def npu_moe_finalize_routing(call: Arguments) -> Tensor:
    """For each row skip1 + skip2 + the sum over its choices of scale * (expert's result + the expert's bias)."""
    if call.drop_pad_mode not in (None, 0, 1):
        raise NotImplementedError(
            f"the NPU simulator lacks npu_moe_finalize_routing in drop_pad_mode {call.drop_pad_mode}"
        )
    results = as_wide(call.expanded_permuted_rows).reshape(-1, call.expanded_permuted_rows.shape[-1])
    choices = call.scales.shape[1] if call.scales is not None else (call.k or 1)
    places = call.expanded_src_to_dst_row.reshape(choices, -1).t()
    picked = results[places.clamp(min=0)] * (places >= 0)[..., None]
    if call.bias is not None and call.export_for_source_row is not None:
        picked = picked + as_wide(call.bias)[call.export_for_source_row.long()]
    total = (picked if call.scales is None else picked * as_wide(call.scales)[..., None]).sum(1)
    for skip in (call.skip1, call.skip2):
        total = total if skip is None else total + as_wide(skip)
    return total.to(call.expanded_permuted_rows.dtype)


def _count_rows(indices: Tensor, num_out_tokens: int | None) -> int:
    """Return the count of rows: a number above zero is the count, any other is added to the count of choices."""
    asked, choices = num_out_tokens or 0, int(indices.numel())
    return min(asked, choices) if asked > 0 else choices + asked


@reference("npu::npu_moe_token_permute", dtypes={"tokens": FLOATS})
def npu_moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """(tokens in the order of their experts, where each choice went)."""
    if padded_mode:
        raise RuntimeError("npu_moe_token_permute supports padded_mode=False only")
    order = indices.flatten().argsort(stable=True)
    choices = indices.shape[1] if indices.dim() == 2 else 1
    permuted = tokens[order[: _count_rows(indices, num_out_tokens)] // choices]
    return permuted, order.argsort(stable=True).to(torch.int32)


@reference("npu::npu_moe_token_permute_grad_v2", dtypes={"grad_permuted_tokens": FLOATS})
@takes(
    "Tensor grad_permuted_tokens, Tensor sorted_indices, int tokens_size_0, ScalarType tokens_dtype, int num_topK, "
    "bool padded_mode=False"
)
def npu_moe_token_permute_grad_v2(call: Arguments) -> Tensor:
    rows = _gather_rows(call.grad_permuted_tokens, call.sorted_indices)
    return rows.unflatten(0, (-1, call.num_topK)).sum(1).to(call.tokens_dtype)


@reference("npu::npu_moe_token_permute_grad", dtypes={"grad_permuted_tokens": FLOATS})
def npu_moe_token_permute_grad(
    tokens: Tensor, grad_permuted_tokens: Tensor, indices: Tensor, sorted_indices: Tensor, padded_mode: bool = False
) -> Tensor:
    choices = indices.shape[1] if indices.dim() == 2 else 1
    return _gather_rows(grad_permuted_tokens, sorted_indices).unflatten(0, (-1, choices)).sum(1).to(tokens.dtype)


def _gather_rows(permuted: Tensor, places: Tensor) -> Tensor:
    """Return rows of which row i is where choice i went; zero where it was dropped."""
    places = places.long()
    present = places < permuted.shape[0]
    return as_wide(permuted)[places.clamp(max=max(permuted.shape[0] - 1, 0))] * present[:, None]


@reference("npu::_npu_moe_token_unpermute", dtypes={"permuted_tokens": FLOATS, "probs": FLOATS})
def npu_moe_token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor]:
    """(the sum over each token's choices of its results times their probabilities, the permuted tokens)."""
    if padded_mode:
        raise RuntimeError("npu_moe_token_unpermute supports padded_mode=False only")
    rows = _gather_rows(permuted_tokens, sorted_indices)
    if probs is not None:
        rows = rows * as_wide(probs).reshape(-1, 1)
    choices = 1 if probs is None else probs.shape[1]
    return rows.unflatten(0, (-1, choices)).sum(1).to(permuted_tokens.dtype), permuted_tokens


def _unpermute_gradients(
    grad: Tensor, places: Tensor, count: int, dtype: torch.dtype, probs: Tensor | None, permuted: Tensor | None
) -> tuple[Tensor, Tensor]:
    choices = 1 if probs is None else probs.shape[1]
    rows = as_wide(grad).repeat_interleave(choices, 0)
    present = places.long() < count
    scaled = rows if probs is None else rows * as_wide(probs).reshape(-1, 1)
    dpermuted = rows.new_zeros(count, rows.shape[1])
    dpermuted[places.long()[present]] = scaled[present]
    if probs is None:
        return dpermuted.to(dtype), grad.new_empty(0)
    assert permuted is not None
    dprobs = (rows * _gather_rows(permuted, places)).sum(-1).reshape(probs.shape)
    return dpermuted.to(dtype), dprobs.to(probs.dtype)


@reference("npu::npu_moe_token_unpermute_grad_v2", dtypes={"grad_unpermuted_tokens": FLOATS})
@takes(
    "Tensor grad_unpermuted_tokens, Tensor sorted_indices, int permuted_tokens_size_0, "
    "ScalarType permuted_tokens_dtype, Tensor? probs=None, bool padded_mode=False, int[]? restore_shape=None, "
    "Tensor? permuted_tokens=None"
)
def npu_moe_token_unpermute_grad_v2(call: Arguments) -> tuple[Tensor, Tensor]:
    rest = (call.permuted_tokens_size_0, call.permuted_tokens_dtype, call.probs, call.permuted_tokens)
    return _unpermute_gradients(call.grad_unpermuted_tokens, call.sorted_indices, *rest)


@reference("npu::npu_moe_token_unpermute_grad", dtypes={"grad_unpermuted_tokens": FLOATS})
@takes(
    "Tensor permuted_tokens, Tensor grad_unpermuted_tokens, Tensor sorted_indices, Tensor? probs=None, "
    "bool padded_mode=False, int[]? restore_shape=None"
)
def npu_moe_token_unpermute_grad(call: Arguments) -> tuple[Tensor, Tensor]:
    rest = (call.permuted_tokens.shape[0], call.permuted_tokens.dtype, call.probs, call.permuted_tokens)
    return _unpermute_gradients(call.grad_unpermuted_tokens, call.sorted_indices, *rest)


def _require_map(padded: bool, routing_map: Tensor | None) -> Tensor:
    if padded or routing_map is None:
        raise NotImplementedError("the NPU simulator lacks permutation of tokens with drop_and_pad")
    return routing_map


def _list_choices(routing_map: Tensor) -> tuple[Tensor, Tensor]:
    """Return (expert, token) of each choice, expert by expert."""
    experts, tokens = routing_map.bool().t().nonzero(as_tuple=True)
    return experts, tokens


@reference("npu::npu_moe_token_permute_with_routing_map", dtypes={"tokens": FLOATS, "probs": FLOATS})
@takes("Tensor tokens, Tensor routing_map, *, Tensor? probs=None, int? num_out_tokens=None, bool drop_and_pad=False")
def npu_moe_token_permute_with_routing_map(call: Arguments) -> tuple[Tensor, Tensor | None, Tensor]:
    """(tokens expert by expert, their probabilities, where the choices went, token by token)."""
    experts, rows = _list_choices(_require_map(call.drop_and_pad, call.routing_map))
    permuted = None if call.probs is None else call.probs[rows, experts]
    return call.tokens[rows], permuted, rows.argsort(stable=True).to(torch.int32)


@reference("npu::npu_moe_token_permute_with_routing_map_grad", dtypes={"permuted_token_out_grad": FLOATS})
@takes(
    "Tensor permuted_token_out_grad, Tensor? probs_grad, Tensor sorted_indices, Tensor routing_map, int experts_num, "
    "int tokens_num, bool drop_and_pad"
)
def npu_moe_token_permute_with_routing_map_grad(call: Arguments) -> tuple[Tensor, Tensor | None]:
    experts, rows = _list_choices(_require_map(call.drop_and_pad, call.routing_map))
    grad = as_wide(call.permuted_token_out_grad)
    dtokens = (
        grad.new_zeros(call.tokens_num, grad.shape[1]).index_add(0, rows, grad).to(call.permuted_token_out_grad.dtype)
    )
    if call.probs_grad is None:
        return dtokens, None
    dprobs = call.probs_grad.new_zeros(call.tokens_num, call.experts_num)
    dprobs[rows, experts] = call.probs_grad
    return dtokens, dprobs


@reference("npu::_npu_moe_token_unpermute_with_routing_map", dtypes={"permuted_tokens": FLOATS})
@takes(
    "Tensor permuted_tokens, Tensor sorted_indices, int[] restore_shape, *, Tensor? probs=None, "
    "Tensor? routing_map=None, bool drop_and_pad=False"
)
def npu_moe_token_unpermute_with_routing_map(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """(the sum over each token's experts, two indices that only padding uses, the probabilities of the choices)."""
    experts, rows = _list_choices(_require_map(call.drop_and_pad, call.routing_map))
    results = as_wide(call.permuted_tokens)
    picked = None if call.probs is None else call.probs[rows, experts]
    results = results if picked is None else results * as_wide(picked)[:, None]
    total = results.new_zeros(list(call.restore_shape)).index_add(0, rows, results)
    return total.to(call.permuted_tokens.dtype), call.sorted_indices.clone(), call.sorted_indices.clone(), picked


@reference("npu::npu_moe_token_unpermute_with_routing_map_grad", dtypes={"unpermuted_tokens_grad": FLOATS})
@takes(
    "Tensor unpermuted_tokens_grad, Tensor out_index, Tensor permuted_token_id, Tensor? routing_map, "
    "Tensor? permuted_tokens, Tensor? probs, bool drop_and_pad, int[] restore_shape"
)
def npu_moe_token_unpermute_with_routing_map_grad(call: Arguments) -> tuple[Tensor, Tensor | None]:
    experts, rows = _list_choices(_require_map(call.drop_and_pad, call.routing_map))
    grad = as_wide(call.unpermuted_tokens_grad)[rows]
    dtype = call.unpermuted_tokens_grad.dtype
    if call.probs is None:
        return grad.to(dtype), None
    assert call.permuted_tokens is not None
    dprobs = grad.new_zeros(call.probs.shape)
    dprobs[rows, experts] = (grad * as_wide(call.permuted_tokens)).sum(-1)
    return (grad * as_wide(call.probs[rows, experts])[:, None]).to(dtype), dprobs.to(dtype)


@reference(
    "npu::npu_moe_re_routing",
    dtypes={
        "tokens": (torch.float16, torch.bfloat16, torch.int8),
        "expert_token_num_per_rank": (torch.int32, torch.int64),
        "per_token_scales": (torch.float32,),
    },
)
@takes(
    "Tensor tokens, Tensor expert_token_num_per_rank, *, Tensor? per_token_scales=None, int expert_token_num_type=1, "
    "int idx_type=0"
)
def npu_moe_re_routing(call: Arguments) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(tokens by expert, their scales, where each came from, tokens of each expert) of tokens (A, H) by rank.

    Counts (ranks, experts) say how many of a rank's tokens are for each expert; they must add up to A.
    """
    counts = call.expert_token_num_per_rank
    if call.expert_token_num_type != 1 or call.idx_type != 0:
        raise RuntimeError("npu_moe_re_routing supports expert_token_num_type 1 and idx_type 0 only")
    if int(counts.sum()) != call.tokens.shape[0]:
        raise RuntimeError(
            f"npu_moe_re_routing: expert_token_num_per_rank adds up to {int(counts.sum())}, "
            f"but there are {call.tokens.shape[0]} tokens"
        )
    experts = torch.arange(counts.shape[1], device=call.tokens.device).repeat(counts.shape[0])
    order = experts.repeat_interleave(counts.flatten().long()).sort(stable=True)[1]
    scales = call.tokens.new_full(call.tokens.shape[:1], float("nan"), dtype=torch.float32)
    if call.per_token_scales is not None:
        scales = call.per_token_scales[order]
    return call.tokens[order], scales, order.to(torch.int32), counts.sum(0, dtype=counts.dtype)
