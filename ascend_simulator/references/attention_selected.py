"""torch_npu.npu_nsa_select_attention: Native Sparse Attention's attention over selected blocks.

Formula: softmax(scale * q k^T) v over the keys of the blocks that topk_indices names for a token; a block named twice
counts twice. Limits: torch_npu's docstring of the operator. Its gradient is not here: which keys that operator hides,
by the sparse mode that torch_npu sets, is not documented.

Attention over chosen blocks: npu_block_sparse_attention (its page under registry.DOCUMENTS), with its gradient.

A block of rows sees the blocks of keys that the mask names. Lengths are those of each entry, with TND as with BNSD.

Joining the attention of two blocks of keys. Formula: npu_ring_attention_update; Ring Attention, arXiv 2310.01889.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .attention_core import Entry, from_entries, lengths_of, repeat_heads, sum_heads, to_entries
from .numeric import as_wide
from .registry import FLOATS, HALVES, Arguments, reference, takes

SELECTED = {"query": HALVES, "key": HALVES, "value": HALVES, "topk_indices": (torch.int32,)}


@reference("npu::npu_nsa_select_attention", dtypes=SELECTED)
@takes(
    "Tensor query, Tensor key, Tensor value, Tensor topk_indices, float scale_value, int head_num, "
    "int select_block_size, int select_block_count, *, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None"
)
def npu_nsa_select_attention(call: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """(attention (T, N, D of value), max (T, N, 8), sum (T, N, 8)), the last two in float32."""
    name, query, key, value, heads = "npu_nsa_select_attention", call.query, call.key, call.value, call.head_num
    if query.shape[-1] != 192 or value.shape[-1] != 128:
        raise RuntimeError(f"{name} takes D 192, and 128 of value, but got {list(value.shape)}")
    rows, columns = lengths_of(call.actual_seq_qlen), lengths_of(call.actual_seq_kvlen)
    size, count = call.select_block_size, call.select_block_count
    if (size, count) != (64, 16):
        raise RuntimeError(f"{name} takes 16 blocks of 64, but got {count} of {size}")
    if not rows or len(rows) != len(columns) or sum(rows) != query.shape[0] or sum(columns) != key.shape[0]:
        raise RuntimeError(f"{name}: lengths {rows} and {columns} do not fit query and key")
    if any(length % 64 or length < 1024 for length in columns):
        raise RuntimeError(f"{name}: lengths of key are multiples of 64 from 1024, got {columns}")
    groups, rest = divmod(heads, int(key.shape[1]))
    if rest or not 1 <= groups <= 32 or query.shape[1] != heads:
        raise RuntimeError(f"{name}: {heads} heads of query, {key.shape[1]} of key")
    whole = zip(query.split(rows), key.split(columns), value.split(columns), call.topk_indices.split(rows))
    results = [_attend_selected(name, *entry, call.scale_value) for entry in whole]
    out = torch.cat([result[0].transpose(0, 1) for result in results]).to(query.dtype)
    largest, total = (
        torch.cat([result[i].t() for result in results])[..., None].repeat(1, 1, 8).float() for i in (1, 2)
    )
    return out, largest, total


def _attend_selected(
    name: str, q: Tensor, k: Tensor, v: Tensor, blocks: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (attention, max, sum of exp(score - max)) of one batch entry (S, N, D), whose blocks are counted as often
    as they are named; the probabilities are rounded to the dtype before the product.
    """
    if bool((blocks < 0).any()) or bool((blocks >= k.shape[0] // 64).any()):
        raise RuntimeError(f"{name}: topk_indices names a block that key does not have")
    heads = q.shape[1]
    named = torch.zeros(*blocks.shape[:2], k.shape[0] // 64, dtype=torch.float32, device=q.device)
    named = named.scatter_add(2, blocks.long(), torch.ones_like(blocks, dtype=named.dtype))
    counts = repeat_heads(named.transpose(0, 1), heads).repeat_interleave(64, -1)
    query, key, value = (repeat_heads(as_wide(x).transpose(0, 1), heads) for x in (q, k, v))
    scores = (query @ key.transpose(-1, -2) * scale).masked_fill(counts == 0, -math.inf)
    largest = scores.amax(-1)
    weights = counts * (scores - largest[..., None]).exp()
    total = weights.sum(-1)
    return (weights / total[..., None]).to(q.dtype).to(weights.dtype) @ value, largest, total


BLOCKS = "npu_block_sparse_attention"
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
        raise RuntimeError(f"{BLOCKS} supports head dimensions 64 and 128, got {call.query.shape[-1]}")
    layout, entries = _make_entries(call)
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
        raise RuntimeError(f"{BLOCKS}_backward supports head dimension 128, got {call.query.shape[-1]}")
    layout, entries = _make_entries(call)
    rows, heads = [entry.query.shape[1] for entry in entries], call.num_key_value_heads
    grouped = (call.d_out, call.attention_out, call.softmax_lse)
    parts = zip(*(_split_entries(part, layout, call.query.shape[1], rows) for part in grouped))
    grads = [
        entry.attend_backward(grad, out, lse[..., 0], torch.ones_like(lse[..., 0]))
        for entry, (grad, out, lse) in zip(entries, parts)
    ]
    dk, dv = ([sum_heads(grad[name], heads) for grad in grads] for name in ("key", "value"))
    results = (([grad["query"] for grad in grads], call.query), (dk, call.key), (dv, call.value))
    dq_all, dk_all, dv_all = (_join_entries(grad, layout, like) for grad, like in results)
    return dq_all, dk_all, dv_all


def _read_lengths(layout: str, listed: Sequence[int] | None, tensor: Tensor, name: str) -> list[int]:
    if layout == "TND" and not listed:
        raise RuntimeError(f"{name} must be specified when the input layout is TND")
    return list(listed or [tensor.shape[2]] * tensor.shape[0])


def _check_lengths(layout: str, lengths: Sequence[int], tensor: Tensor, entries: int, name: str) -> None:
    """Check: one length for each row of the mask; with TND they make up all tokens, else each is within its entry."""
    packed = layout == "TND"
    fits = sum(lengths) == tensor.shape[0] if packed else max(lengths) <= tensor.shape[2]
    if len(lengths) != entries or min(lengths) < 0 or not fits or not (packed or tensor.shape[0] == entries):
        what = f"{name} {list(lengths)} with {layout} {list(tensor.shape)}"
        raise RuntimeError(f"{BLOCKS}: {what} and a block_sparse_mask of {entries} entries")


def _split_entries(tensor: Tensor, layout: str, heads: int, lengths: Sequence[int]) -> list[Tensor]:
    """Return (heads, length, D) per batch entry."""
    return [entry[:, :length] for entry, length in zip(to_entries(tensor, layout, heads, lengths), lengths)]


def _join_entries(entries: Sequence[Tensor], layout: str, like: Tensor) -> Tensor:
    if layout == "BNSD":
        entries = [torch.nn.functional.pad(entry, (0, 0, 0, like.shape[2] - entry.shape[1])) for entry in entries]
    return from_entries(entries, layout, like)


def _make_entries(call: Arguments) -> tuple[str, list[Entry]]:
    """Return the layout, and an entry for each row of the mask."""
    query, key, mask, key_heads = call.query, call.key, call.block_sparse_mask, call.num_key_value_heads
    layout, block_shape, heads = call.q_input_layout, call.block_shape or [128, 128], int(call.query.shape[1])
    if layout not in ("TND", "BNSD") or layout != call.kv_input_layout:
        raise RuntimeError(f"{BLOCKS} takes TND or BNSD for all, but got {layout} and {call.kv_input_layout}")
    rows = _read_lengths(layout, call.actual_seq_lengths, query, "actual_seq_lengths")
    columns = _read_lengths(layout, call.actual_seq_lengths_kv, key, "actual_seq_lengths_kv")
    if (call.actual_seq_lengths is None) != (call.actual_seq_lengths_kv is None):
        raise RuntimeError(f"{BLOCKS}: actual_seq_lengths and actual_seq_lengths_kv go together")
    if key.shape[1] != key_heads or heads % key_heads or {key.dtype, call.value.dtype} != {query.dtype}:
        raise RuntimeError(f"{BLOCKS}: {heads} heads of {query.dtype}, keys {list(key.shape)}")
    if len(block_shape) < 2 or block_shape[0] <= 0 or block_shape[1] <= 0 or block_shape[1] % 128:
        raise RuntimeError(f"{BLOCKS}: block_shape {list(block_shape)}; the second is 128 or more")
    if mask.dim() != 4 or mask.shape[1] != heads:
        raise RuntimeError(f"{BLOCKS}: block_sparse_mask {list(mask.shape)} for {heads} heads")
    _check_lengths(layout, rows, query, len(mask), "actual_seq_lengths")
    _check_lengths(layout, columns, key, len(mask), "actual_seq_lengths_kv")
    queries = _split_entries(query, layout, heads, rows)
    keys, values = (_split_entries(part, layout, key_heads, columns) for part in (key, call.value))
    entries = []
    for chosen, q, k, v in zip(mask, queries, keys, values):
        hidden = _hidden_scores(chosen, block_shape, q.shape[1], k.shape[1])
        entries.append(Entry(q, repeat_heads(k, heads), repeat_heads(v, heads), hidden, call.scale_value))
    return layout, entries


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
    layouts = call.input_layout, call.input_softmax_layout
    first, second = (_weight_block(as_wide(block), share[..., 0], *layouts) for block, share in parts)
    return (first + second).to(call.prev_attn_out.dtype), largest, total


def _weight_block(block: Tensor, share: Tensor, layout: str, softmax_layout: str) -> Tensor:
    if layout == "SBH":  # share is (B, N, S)
        heads = share.shape[1]
        return (block.unflatten(-1, (heads, -1)) * share.permute(2, 0, 1)[..., None]).flatten(2)
    if softmax_layout != "TND":  # (T, N) in memory as (N, T)
        share = share.reshape(share.shape[1], share.shape[0]).t()
    return block * share[..., None]
