"""torch_npu.npu_nsa_select_attention: Native Sparse Attention's attention over selected blocks.

Formula: softmax(scale * q k^T) v over the keys of the blocks that topk_indices names for a token; a block named twice
counts twice. Limits: torch_npu's docstring of the operator, and aclnnNsaSelectedAttention.md of
https://gitcode.com/cann/ops-transformer. Its gradient is not here: which keys that operator hides, by the sparse mode
that torch_npu sets, is not documented.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .attention_core import lengths_of, repeat_heads
from .numeric import as_wide
from .registry import HALVES, reference

QKV = {"query": HALVES, "key": HALVES, "value": HALVES, "topk_indices": (torch.int32,)}


@dataclass(frozen=True)
class Selection:
    """One batch entry: q (N, Sq, D), k and v (N, Skv, D), heads repeated; how often each key counts (N, Sq, Skv)."""

    query: Tensor
    key: Tensor
    value: Tensor
    counts: Tensor
    scale: float

    def compute_scores(self) -> Tensor:
        return (self.query @ self.key.transpose(-1, -2) * self.scale).masked_fill(self.counts == 0, -math.inf)

    def attend_forward(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        """Return (attention, max, sum of exp(score - max)); the probabilities are rounded to `dtype` before the
        product.
        """
        scores = self.compute_scores()
        largest = scores.amax(-1)
        weights = self.counts * (scores - largest[..., None]).exp()
        total = weights.sum(-1)
        return (weights / total[..., None]).to(dtype).to(weights.dtype) @ self.value, largest, total


@reference("npu::npu_nsa_select_attention", dtypes=QKV)
def npu_nsa_select_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    topk_indices: Tensor,
    scale_value: float,
    head_num: int,
    select_block_size: int,
    select_block_count: int,
    *,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(attention (T, N, D of value), max (T, N, 8), sum (T, N, 8)), the last two in float32."""
    if query.shape[-1] != 192 or value.shape[-1] != 128:
        raise RuntimeError(f"npu_nsa_select_attention takes D 192, and 128 of value, but got {list(value.shape)}")
    results = [
        entry.attend_forward(query.dtype)
        for entry in _make_entries(
            query,
            key,
            value,
            topk_indices,
            scale_value,
            head_num,
            (select_block_size, select_block_count),
            actual_seq_qlen,
            actual_seq_kvlen,
        )
    ]
    out = torch.cat([result[0].transpose(0, 1) for result in results]).to(query.dtype)
    largest, total = (
        torch.cat([result[i].t() for result in results])[..., None].repeat(1, 1, 8).float() for i in (1, 2)
    )
    return out, largest, total


def _make_entries(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    chosen: Tensor,
    scale: float,
    heads: int,
    block: tuple[int, int],
    query_ends: Sequence[int] | None,
    key_ends: Sequence[int] | None,
) -> Iterator[Selection]:
    rows, columns = lengths_of(query_ends), lengths_of(key_ends)
    if block != (64, 16):
        raise RuntimeError(f"npu_nsa_select_attention takes 16 blocks of 64, but got {block[1]} of {block[0]}")
    if not rows or len(rows) != len(columns) or sum(rows) != query.shape[0] or sum(columns) != key.shape[0]:
        raise RuntimeError(f"npu_nsa_select_attention: lengths {rows} and {columns} do not fit query and key")
    if any(count % 64 or count < 1024 for count in columns):
        raise RuntimeError(f"npu_nsa_select_attention: lengths of key are multiples of 64 from 1024, got {columns}")
    groups, rest = divmod(heads, int(key.shape[1]))
    if rest or not 1 <= groups <= 32 or query.shape[1] != heads:
        raise RuntimeError(f"npu_nsa_select_attention: {heads} heads of query, {key.shape[1]} of key")
    whole = zip(query.split(rows), key.split(columns), value.split(columns), chosen.split(rows))
    for q, k, v, blocks in whole:
        if bool((blocks < 0).any()) or bool((blocks >= k.shape[0] // 64).any()):
            raise RuntimeError("npu_nsa_select_attention: topk_indices names a block that key does not have")
        counts = torch.zeros(*blocks.shape[:2], k.shape[0] // 64, dtype=torch.float32, device=q.device)
        counts = counts.scatter_add(2, blocks.long(), torch.ones_like(blocks, dtype=counts.dtype))
        yield Selection(
            as_wide(q).transpose(0, 1),
            repeat_heads(as_wide(k).transpose(0, 1), heads),
            repeat_heads(as_wide(v).transpose(0, 1), heads),
            repeat_heads(counts.transpose(0, 1), heads).repeat_interleave(64, -1),
            scale,
        )
