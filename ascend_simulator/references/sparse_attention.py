"""Attention over chosen blocks: npu_block_sparse_attention (its page under registry.DOCUMENTS), with its gradient.

A block of rows sees the blocks of keys that the mask names. Lengths are those of each entry, with TND as with BNSD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .attention_core import Entry, from_entries, repeat_heads, sum_heads, to_entries
from .registry import HALVES, reference

QKV = {"query": HALVES, "key": HALVES, "value": HALVES, "block_sparse_mask": (torch.int8,)}


@reference("npu::npu_block_sparse_attention", dtypes=QKV)
def npu_block_sparse_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    block_sparse_mask: Tensor,
    block_shape: Sequence[int],
    *,
    q_input_layout: str = "TND",
    kv_input_layout: str = "TND",
    num_key_value_heads: int = 1,
    scale_value: float = 0.0,
    inner_precise: int = 1,
    actual_seq_lengths: Sequence[int] | None = None,
    actual_seq_lengths_kv: Sequence[int] | None = None,
    softmax_lse_flag: int | None = 0,
) -> tuple[Tensor, Tensor]:
    """(attention, log-sum-exp (B, N, S, 1) or (T, N, 1)); without the flag the second is memory nobody wrote: nan."""
    if inner_precise not in (0, 1) or (inner_precise == 1 and query.dtype == torch.bfloat16):
        raise RuntimeError(f"npu_block_sparse_attention: inner_precise {inner_precise} with {query.dtype}")
    if query.shape[-1] not in (64, 128):
        raise RuntimeError(f"npu_block_sparse_attention supports head dimensions 64 and 128, got {query.shape[-1]}")
    arguments = (query, key, value, block_sparse_mask, block_shape, scale_value)
    layout = _common_layout(q_input_layout, kv_input_layout)
    entries = list(_make_entries(layout, num_key_value_heads, actual_seq_lengths, actual_seq_lengths_kv, *arguments))
    results = [entry.attend_forward() for entry in entries]
    sums = [(largest + total.log())[..., None] for _, largest, total in results]
    out = _join_entries([result[0] for result in results], layout, query)
    shape = (*query.shape[:-1], 1)
    if not softmax_lse_flag:
        return out, query.new_full(shape, float("nan"), dtype=torch.float32)
    return out, _join_entries(sums, layout, query.new_zeros(shape, dtype=torch.float32))


@reference("npu::npu_block_sparse_attention_backward", dtypes={**QKV, "d_out": HALVES})
def npu_block_sparse_attention_backward(
    d_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_out: Tensor,
    softmax_lse: Tensor,
    block_sparse_mask: Tensor,
    block_shape: Sequence[int] | None,
    actual_seq_lengths: Sequence[int] | None,
    actual_seq_lengths_kv: Sequence[int] | None,
    q_input_layout: str,
    kv_input_layout: str,
    num_key_value_heads: int,
    scale_value: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """(dq, dk, dv) from the forward's log-sum-exp, which must have been asked for."""
    if query.shape[-1] != 128:
        raise RuntimeError(f"npu_block_sparse_attention_backward supports head dimension 128, got {query.shape[-1]}")
    arguments = (query, key, value, block_sparse_mask, block_shape or [128, 128], scale_value)
    layout, heads = _common_layout(q_input_layout, kv_input_layout), num_key_value_heads
    entries = list(_make_entries(layout, heads, actual_seq_lengths, actual_seq_lengths_kv, *arguments))
    rows = [entry.query.shape[1] for entry in entries]
    parts = zip(*(_split_entries(part, layout, query.shape[1], rows) for part in (d_out, attention_out, softmax_lse)))
    grads = [
        entry.attend_backward(grad, out, lse[..., 0], torch.ones_like(lse[..., 0]))
        for entry, (grad, out, lse) in zip(entries, parts)
    ]
    dk, dv = ([sum_heads(grad[name], heads) for grad in grads] for name in ("key", "value"))
    dq = [grad["query"] for grad in grads]
    return _join_entries(dq, layout, query), _join_entries(dk, layout, key), _join_entries(dv, layout, value)


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
    cut = (
        _split_entries(query, layout, heads, row_counts),
        _split_entries(key, layout, key_heads, column_counts),
        _split_entries(value, layout, key_heads, column_counts),
    )
    for chosen, q, k, v in zip(mask, *cut):
        yield Entry(
            query=q,
            key=repeat_heads(k, heads),
            value=repeat_heads(v, heads),
            hidden=_hidden_scores(chosen, block_shape, q.shape[1], k.shape[1]),
            pse=None,
            sink=None,
            kept=None,
            scale=scale,
            keep_prob=1.0,
            add_first=True,
            zero_rows=False,
        )


def _hidden_scores(chosen: Tensor, block_shape: Sequence[int], rows: int, columns: int) -> Tensor:
    """Return (N, rows, columns) of (N, row blocks, column blocks)."""
    whole = chosen.repeat_interleave(block_shape[0], 1).repeat_interleave(block_shape[1], 2)
    hidden = whole[:, :rows, :columns] == 0
    if hidden.shape[1:] != (rows, columns):
        raise RuntimeError(f"npu_block_sparse_attention: block_sparse_mask {list(chosen.shape)} for {rows}x{columns}")
    if bool(hidden.all(-1).any()):
        raise NotImplementedError("the NPU simulator lacks npu_block_sparse_attention with rows that see no block")
    return hidden
