"""torch_npu.npu_nsa_select_attention: Native Sparse Attention's attention over selected blocks.

Formula: softmax(scale * q k^T) v over the keys of the blocks that topk_indices names for a token; a block named twice
counts twice. Limits: torch_npu's docstring of the operator, and aclnnNsaSelectedAttention.md of
https://gitcode.com/cann/ops-transformer. Its gradient is not here: which keys that operator hides, by the sparse mode
that torch_npu sets, is not documented.

Attention over chosen blocks: npu_block_sparse_attention (its page under registry.DOCUMENTS), with its gradient.

A block of rows sees the blocks of keys that the mask names. Lengths are those of each entry, with TND as with BNSD.

Joining the attention of two blocks of keys. Formula: npu_ring_attention_update; Ring Attention, arXiv 2310.01889.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .attention_core import Entry, from_entries, lengths_of, repeat_heads, sum_heads, to_entries
from .numeric import as_wide
from .registry import FLOATS, HALVES, Arguments, reference, takes

SELECTED = {"query": HALVES, "key": HALVES, "value": HALVES, "topk_indices": (torch.int32,)}


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


@reference("npu::npu_nsa_select_attention", dtypes=SELECTED)
@takes(
    "Tensor query, Tensor key, Tensor value, Tensor topk_indices, float scale_value, int head_num, "
    "int select_block_size, int select_block_count, *, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None"
)
def npu_nsa_select_attention(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(attention (T, N, D of value), max (T, N, 8), sum (T, N, 8)), the last two in float32."""
    if call.query.shape[-1] != 192 or call.value.shape[-1] != 128:
        raise RuntimeError(f"npu_nsa_select_attention takes D 192, and 128 of value, but got {list(call.value.shape)}")
    block, lengths = (call.select_block_size, call.select_block_count), (call.actual_seq_qlen, call.actual_seq_kvlen)
    entries = _make_selections(
        call.query, call.key, call.value, call.topk_indices, call.scale_value, call.head_num, block, *lengths
    )
    results = [entry.attend_forward(call.query.dtype) for entry in entries]
    out = torch.cat([result[0].transpose(0, 1) for result in results]).to(call.query.dtype)
    largest, total = (
        torch.cat([result[i].t() for result in results])[..., None].repeat(1, 1, 8).float() for i in (1, 2)
    )
    return out, largest, total


def _make_selections(
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


QKV = {"query": HALVES, "key": HALVES, "value": HALVES, "block_sparse_mask": (torch.int8,)}


@reference("npu::npu_block_sparse_attention", dtypes=QKV)
@takes(
    "Tensor query, Tensor key, Tensor value, Tensor block_sparse_mask, int[] block_shape, *, "
    'str q_input_layout="TND", str kv_input_layout="TND", int num_key_value_heads=1, float scale_value=0.0, '
    "int inner_precise=1, int[]? actual_seq_lengths=None, int[]? actual_seq_lengths_kv=None, int? softmax_lse_flag=0"
)
def npu_block_sparse_attention(call: Arguments) -> tuple[Tensor, Tensor]:
    """(attention, log-sum-exp (B, N, S, 1) or (T, N, 1)); without the flag the second is memory nobody wrote: nan."""
    if call.inner_precise not in (0, 1) or (call.inner_precise == 1 and call.query.dtype == torch.bfloat16):
        raise RuntimeError(f"npu_block_sparse_attention: inner_precise {call.inner_precise} with {call.query.dtype}")
    if call.query.shape[-1] not in (64, 128):
        raise RuntimeError(
            f"npu_block_sparse_attention supports head dimensions 64 and 128, got {call.query.shape[-1]}"
        )
    arguments = (call.query, call.key, call.value, call.block_sparse_mask, call.block_shape, call.scale_value)
    layout = _common_layout(call.q_input_layout, call.kv_input_layout)
    entries = list(
        _make_entries(layout, call.num_key_value_heads, call.actual_seq_lengths, call.actual_seq_lengths_kv, *arguments)
    )
    results = [entry.attend_forward() for entry in entries]
    sums = [(largest + total.log())[..., None] for _, largest, total in results]
    out = _join_entries([result[0] for result in results], layout, call.query)
    shape = (*call.query.shape[:-1], 1)
    if not call.softmax_lse_flag:
        return out, call.query.new_full(shape, float("nan"), dtype=torch.float32)
    return out, _join_entries(sums, layout, call.query.new_zeros(shape, dtype=torch.float32))


@reference("npu::npu_block_sparse_attention_backward", dtypes={**QKV, "d_out": HALVES})
@takes(
    "Tensor d_out, Tensor query, Tensor key, Tensor value, Tensor attention_out, Tensor softmax_lse, "
    "Tensor block_sparse_mask, int[]? block_shape, int[]? actual_seq_lengths, int[]? actual_seq_lengths_kv, "
    "str q_input_layout, str kv_input_layout, int num_key_value_heads, float scale_value"
)
def npu_block_sparse_attention_backward(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(dq, dk, dv) from the forward's log-sum-exp, which must have been asked for."""
    if call.query.shape[-1] != 128:
        raise RuntimeError(
            f"npu_block_sparse_attention_backward supports head dimension 128, got {call.query.shape[-1]}"
        )
    arguments = (
        call.query,
        call.key,
        call.value,
        call.block_sparse_mask,
        call.block_shape or [128, 128],
        call.scale_value,
    )
    layout, heads = _common_layout(call.q_input_layout, call.kv_input_layout), call.num_key_value_heads
    entries = list(_make_entries(layout, heads, call.actual_seq_lengths, call.actual_seq_lengths_kv, *arguments))
    rows = [entry.query.shape[1] for entry in entries]
    parts = zip(
        *(
            _split_entries(part, layout, call.query.shape[1], rows)
            for part in (call.d_out, call.attention_out, call.softmax_lse)
        )
    )
    grads = [
        entry.attend_backward(grad, out, lse[..., 0], torch.ones_like(lse[..., 0]))
        for entry, (grad, out, lse) in zip(entries, parts)
    ]
    dk, dv = ([sum_heads(grad[name], heads) for grad in grads] for name in ("key", "value"))
    dq = [grad["query"] for grad in grads]
    return (
        _join_entries(dq, layout, call.query),
        _join_entries(dk, layout, call.key),
        _join_entries(dv, layout, call.value),
    )


def _common_layout(of_query: str, of_key: str) -> str:
    if of_query not in ("TND", "BNSD") or of_query != of_key:
        raise RuntimeError(f"npu_block_sparse_attention takes TND or BNSD for all, but got {of_query} and {of_key}")
    return of_query


def _read_lengths(layout: str, listed: Sequence[int] | None, tensor: Tensor, name: str) -> list[int]:
    if layout == "TND":
        if not listed:
            raise RuntimeError(f"{name} must be specified when the input layout is TND")
        return list(listed)
    return list(listed or [tensor.shape[2]] * tensor.shape[0])


def _check_lengths(layout: str, lengths: Sequence[int], tensor: Tensor, entries: int, name: str) -> None:
    """Check that there is one length for each row of the mask; with TND they make up all tokens, else each is within
    its entry.
    """
    packed = layout == "TND"
    fits = sum(lengths) == tensor.shape[0] if packed else max(lengths) <= tensor.shape[2]
    if len(lengths) != entries or min(lengths) < 0 or not fits or not (packed or tensor.shape[0] == entries):
        raise RuntimeError(
            f"npu_block_sparse_attention: {name} {list(lengths)} with {layout} {list(tensor.shape)} and a "
            f"block_sparse_mask of {entries} entries"
        )


def _split_entries(tensor: Tensor, layout: str, heads: int, lengths: Sequence[int]) -> list[Tensor]:
    """Return (heads, length, D) per batch entry."""
    return [entry[:, :length] for entry, length in zip(to_entries(tensor, layout, heads, lengths), lengths)]


def _join_entries(entries: Sequence[Tensor], layout: str, like: Tensor) -> Tensor:
    if layout == "BNSD":
        entries = [torch.nn.functional.pad(entry, (0, 0, 0, like.shape[2] - entry.shape[1])) for entry in entries]
    return from_entries(entries, layout, like)


def _make_entries(
    layout: str,
    key_heads: int,
    rows: Sequence[int] | None,
    columns: Sequence[int] | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    block_shape: Sequence[int],
    scale: float,
) -> Iterator[Entry]:
    row_counts = _read_lengths(layout, rows, query, "actual_seq_lengths")
    column_counts = _read_lengths(layout, columns, key, "actual_seq_lengths_kv")
    if (rows is None) != (columns is None):
        raise RuntimeError("npu_block_sparse_attention: actual_seq_lengths and actual_seq_lengths_kv go together")
    heads = int(query.shape[1])
    if key.shape[1] != key_heads or heads % key_heads or query.dtype != key.dtype or query.dtype != value.dtype:
        raise RuntimeError(f"npu_block_sparse_attention: {heads} heads of {query.dtype}, keys {list(key.shape)}")
    if len(block_shape) < 2 or block_shape[0] <= 0 or block_shape[1] <= 0 or block_shape[1] % 128:
        raise RuntimeError(f"npu_block_sparse_attention: block_shape {list(block_shape)}; the second is 128 or more")
    if mask.dim() != 4 or mask.shape[1] != heads:
        raise RuntimeError(f"npu_block_sparse_attention: block_sparse_mask {list(mask.shape)} for {heads} heads")
    _check_lengths(layout, row_counts, query, len(mask), "actual_seq_lengths")
    _check_lengths(layout, column_counts, key, len(mask), "actual_seq_lengths_kv")
    queries = _split_entries(query, layout, heads, row_counts)
    keys, values = (_split_entries(part, layout, key_heads, column_counts) for part in (key, value))
    for chosen, q, k, v in zip(mask, queries, keys, values):
        hidden = _hidden_scores(chosen, block_shape, q.shape[1], k.shape[1])
        yield Entry(q, repeat_heads(k, heads), repeat_heads(v, heads), hidden, scale)


def _hidden_scores(chosen: Tensor, block_shape: Sequence[int], rows: int, columns: int) -> Tensor:
    """Return (N, rows, columns) of (N, row blocks, column blocks)."""
    whole = chosen.repeat_interleave(block_shape[0], 1).repeat_interleave(block_shape[1], 2)
    hidden = whole[:, :rows, :columns] == 0
    if hidden.shape[1:] != (rows, columns):
        raise RuntimeError(f"npu_block_sparse_attention: block_sparse_mask {list(chosen.shape)} for {rows}x{columns}")
    if bool(hidden.all(-1).any()):
        raise NotImplementedError("the NPU simulator lacks npu_block_sparse_attention with rows that see no block")
    return hidden


@reference("npu::npu_ring_attention_update", dtypes={"prev_attn_out": FLOATS, "cur_attn_out": FLOATS})
@takes(
    "Tensor prev_attn_out, Tensor prev_softmax_max, Tensor prev_softmax_sum, Tensor cur_attn_out, "
    'Tensor cur_softmax_max, Tensor cur_softmax_sum, *, Tensor? actual_seq_qlen=None, str input_layout="SBH", '
    'str input_softmax_layout=""'
)
def npu_ring_attention_update(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(attention, softmax_max, softmax_sum) of both blocks; statistics as npu_fusion_attention gives them."""
    if call.input_layout not in ("SBH", "TND"):
        raise RuntimeError(f"The input_layout should be SBH or TND, but got {call.input_layout}")
    largest = torch.maximum(call.prev_softmax_max, call.cur_softmax_max)
    before = call.prev_softmax_sum * (call.prev_softmax_max - largest).exp()
    after = call.cur_softmax_sum * (call.cur_softmax_max - largest).exp()
    total = before + after
    parts = (call.prev_attn_out, before / total), (call.cur_attn_out, after / total)
    out = sum(
        _weight_block(as_wide(block), share[..., 0], call.input_layout, call.input_softmax_layout)
        for block, share in parts
    )
    assert isinstance(out, Tensor)
    return out.to(call.prev_attn_out.dtype), largest, total


def _weight_block(block: Tensor, share: Tensor, layout: str, softmax_layout: str) -> Tensor:
    if layout == "SBH":  # share is (B, N, S)
        heads = share.shape[1]
        return (block.unflatten(-1, (heads, -1)) * share.permute(2, 0, 1)[..., None]).flatten(2)
    if softmax_layout != "TND":  # (T, N) in memory as (N, T)
        share = share.reshape(share.shape[1], share.shape[0]).t()
    return block * share[..., None]
