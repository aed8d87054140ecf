"""Tokens that came from other ranks, in the order of their experts: npu_moe_re_routing.md (registry.DOCUMENTS)."""

from __future__ import annotations

import torch
from torch import Tensor

from .registry import reference


@reference(
    "npu::npu_moe_re_routing",
    dtypes={
        "tokens": (torch.float16, torch.bfloat16, torch.int8),
        "expert_token_num_per_rank": (torch.int32, torch.int64),
        "per_token_scales": (torch.float32,),
    },
)
def npu_moe_re_routing(
    tokens: Tensor,
    expert_token_num_per_rank: Tensor,
    *,
    per_token_scales: Tensor | None = None,
    expert_token_num_type: int = 1,
    idx_type: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(tokens by expert, their scales, where each came from, tokens of each expert) of tokens (A, H) by rank.

    Counts (ranks, experts) say how many of a rank's tokens are for each expert; they must add up to A.
    """
    counts = expert_token_num_per_rank
    if expert_token_num_type != 1 or idx_type != 0:
        raise RuntimeError("npu_moe_re_routing supports expert_token_num_type 1 and idx_type 0 only")
    if int(counts.sum()) != tokens.shape[0]:
        raise RuntimeError(
            f"npu_moe_re_routing: expert_token_num_per_rank adds up to {int(counts.sum())}, "
            f"but there are {tokens.shape[0]} tokens"
        )
    experts = torch.arange(counts.shape[1], device=tokens.device).repeat(counts.shape[0])
    order = experts.repeat_interleave(counts.flatten().long()).sort(stable=True)[1]
    scales = tokens.new_full(tokens.shape[:1], float("nan"), dtype=torch.float32)
    if per_token_scales is not None:
        scales = per_token_scales[order]
    return tokens[order], scales, order.to(torch.int32), counts.sum(0, dtype=counts.dtype)
