"""Joining the attention of two blocks of keys. Formula: npu_ring_attention_update; Ring Attention, arXiv 2310.01889."""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference


@reference("npu::npu_ring_attention_update", dtypes={"prev_attn_out": FLOATS, "cur_attn_out": FLOATS})
def npu_ring_attention_update(
    prev_attn_out: Tensor,
    prev_softmax_max: Tensor,
    prev_softmax_sum: Tensor,
    cur_attn_out: Tensor,
    cur_softmax_max: Tensor,
    cur_softmax_sum: Tensor,
    *,
    actual_seq_qlen: Tensor | None = None,
    input_layout: str = "SBH",
    input_softmax_layout: str = "",
) -> tuple[Tensor, Tensor, Tensor]:
    """(attention, softmax_max, softmax_sum) of both blocks; statistics as npu_fusion_attention gives them."""
    if input_layout not in ("SBH", "TND"):
        raise RuntimeError(f"The input_layout should be SBH or TND, but got {input_layout}")
    largest = torch.maximum(prev_softmax_max, cur_softmax_max)
    before = prev_softmax_sum * (prev_softmax_max - largest).exp()
    after = cur_softmax_sum * (cur_softmax_max - largest).exp()
    total = before + after
    parts = (prev_attn_out, before / total), (cur_attn_out, after / total)
    out = sum(
        _weight_block(as_wide(block), share[..., 0], input_layout, input_softmax_layout) for block, share in parts
    )
    assert isinstance(out, Tensor)
    return out.to(prev_attn_out.dtype), largest, total


def _weight_block(block: Tensor, share: Tensor, layout: str, softmax_layout: str) -> Tensor:
    if layout == "SBH":  # share is (B, N, S)
        heads = share.shape[1]
        return (block.unflatten(-1, (heads, -1)) * share.permute(2, 0, 1)[..., None]).flatten(2)
    if softmax_layout != "TND":  # (T, N) in memory as (N, T)
        share = share.reshape(share.shape[1], share.shape[0]).t()
    return block * share[..., None]
