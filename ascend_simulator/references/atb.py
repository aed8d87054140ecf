"""Attention of ATB, CANN's NNAL package (atb::...): over packed sequences, over pages, of latent heads.

Formula: softmax(scale * q k^T + mask) v, with the probabilities rounded to the tokens' dtype before the last product;
torch_npu's docstrings of torch_npu.atb, and SelfAttention and PagedAttention of https://www.hiascend.com/document
(Ascend Transformer Boost). Not here, and refused: int8, biases by slope, other _v2 forms.

Operators of ATB, CANN's NNAL package (atb::...): caches, rotary positions, a sum of products, int8.

Formulas: torch_npu's docstrings of torch_npu.atb, and ATB's ReshapeAndCache, Rope, Linear and Elewise of
https://www.hiascend.com/document (Ascend Transformer Boost). Slots below zero store nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .attention_core import repeat_heads
from .cache_updates import scatter_rows, scattered_into_parts
from .numeric import as_wide
from .registry import FLOATS, HALVES, Arguments, derived_from, reference, takes
from .rotary import rotate_half

PACKED = {"query": HALVES, "key": HALVES, "value": HALVES, "seq_len": (torch.int32,)}
PAGED = {
    **dict.fromkeys(("query", "key_cache", "value_cache"), HALVES),
    **dict.fromkeys(("block_table", "context_lens"), (torch.int32,)),
}
LATENT = {"q_nope": HALVES, "q_rope": HALVES, "ctkv": HALVES, "k_rope": HALVES, "block_tables": (torch.int32,)}
LATENT_TYPES = ("calc_type_undefined", "calc_type_ring")


def compute_attention(
    query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return ((S, N, Dv), log-sum-exp (S, N)) of q (S, N, D), k (S2, N2, D), v (S2, N2, Dv); the mask is added."""
    q, k, v = (as_wide(x).transpose(0, 1) for x in (query, key, value))
    k, v = repeat_heads(k, q.shape[0]), repeat_heads(v, q.shape[0])
    scores = q @ k.transpose(-1, -2) * scale
    scores = scores if mask is None else scores + as_wide(mask)
    probabilities = as_wide(scores.softmax(-1).to(query.dtype))
    return (probabilities @ v).transpose(0, 1), scores.logsumexp(-1).t()


def read_pages(cache: Tensor, table: Tensor, length: int) -> Tensor:
    """Return the first tokens of one entry (length, N, D) from a cache (blocks, block, N, D)."""
    blocks = -(-length // cache.shape[1])
    return cache[table[:blocks].long()].flatten(0, 1)[:length]


def _check_heads(name: str, query: Tensor, heads: int, keys: int, key_heads: int) -> None:
    if query.dim() != 3 or query.shape[1] != heads or keys != key_heads or heads % key_heads:
        raise RuntimeError(f"{name}: query {list(query.shape)} and {keys} key heads, but {heads} and {key_heads} named")


def _check_entries(name: str, tokens: int, table: Tensor, lengths: Sequence[int]) -> None:
    """Check that there is a row of the table and a length for each of the entries."""
    if table.dim() != 2 or len(table) != tokens or len(lengths) != tokens:
        raise RuntimeError(
            f"{name}: {tokens} entries of query, but a block table {list(table.shape)} and {len(lengths)} lengths"
        )


def _attend_packed(name: str, call: Arguments, lengths: Sequence[int], mask: Tensor | None) -> Tensor:
    """Attend within sequences one after the other; the mask (S, S), (B, S, S) or (B, N, S, S) is added."""
    query, key, value = call.query, call.key, call.value
    _check_heads(name, query, call.num_heads, key.shape[1], call.num_kv_heads)
    if sum(lengths) != query.shape[0] or key.shape[0] != query.shape[0]:
        raise RuntimeError(f"{name}: seq_len {list(lengths)} for {query.shape[0]} tokens")
    if mask is not None and min(mask.shape[-2:]) < max(lengths):
        raise RuntimeError(f"{name}: a mask {list(mask.shape)} for {max(lengths)} tokens")
    if mask is not None and mask.dim() > 2 and mask.shape[0] not in (1, len(lengths)):
        raise RuntimeError(f"{name}: a mask {list(mask.shape)} for {len(lengths)} sequences")
    outputs = []
    for i, (q, k, v) in enumerate(zip(query.split(lengths), key.split(lengths), value.split(lengths))):
        added = mask if mask is None or mask.dim() == 2 else mask[i if mask.shape[0] > 1 else 0]
        added = None if added is None else added[..., : len(q), : len(q)]
        outputs.append(compute_attention(q, k, v, call.scale_value, added)[0])
    return torch.cat(outputs).to(query.dtype)


@reference("atb::_npu_flash_attention", dtypes={**PACKED, "mask": HALVES}, writes=("out",))
@takes(
    "Tensor query, Tensor key, Tensor value, Tensor mask, Tensor seq_len, float scale_value, int num_heads, "
    "int num_kv_heads"
)
def npu_flash_attention(call: Arguments) -> Tensor:
    """Sequences (T, N, D) one after the other, each with the mask (S, S) added."""
    name = "_npu_flash_attention"
    if call.mask.dim() != 2:
        raise NotImplementedError(f"the NPU simulator lacks {name} with a mask of {call.mask.dim()} dimensions")
    return _attend_packed(name, call, call.seq_len.tolist(), call.mask)


@reference("atb::_npu_flash_attention_unpad", dtypes=PACKED, writes=("out",))
@takes("Tensor query, Tensor key, Tensor value, Tensor seq_len, float scale_value, int num_heads, int num_kv_heads")
def npu_flash_attention_unpad(call: Arguments) -> Tensor:
    """As _npu_flash_attention without a mask."""
    return _attend_packed("_npu_flash_attention_unpad", call, call.seq_len.tolist(), None)


@reference(
    "atb::_npu_flash_attention_v2.out",
    dtypes={"query": HALVES, "key": HALVES, "value": HALVES, "mask": HALVES},
    writes=("out",),
)
@takes(
    "Tensor query, Tensor key, Tensor value, int[] seq_len, *, Tensor? mask=None, int kernel_type=0, int mask_type=2, "
    "float scale_value=1.0, int num_heads=0, int num_kv_heads=0"
)
def npu_flash_attention_v2(call: Arguments) -> Tensor:
    """Sequences (T, N * D) or (T, N, D); the mask (S, S), (B, S, S) or, with mask_type 2, (B, N, S, S) is added.

    kernel_type, the hardware's precision, changes nothing here.
    """
    name, flat, mask, kind = "_npu_flash_attention_v2", call.query.dim() == 2, call.mask, call.mask_type
    if kind not in (0, 1, 2) or (mask is None) != (kind == 0):
        raise NotImplementedError(f"the NPU simulator lacks {name} with mask_type {kind}, mask {mask is not None}")
    if mask is not None and mask.dim() not in ((2, 3) if kind == 1 else (4,)):
        raise NotImplementedError(f"the NPU simulator lacks {name} with mask_type {kind}, {mask.dim()} dimensions")
    for part, heads in (("query", call.num_heads), ("key", call.num_kv_heads), ("value", call.num_kv_heads)):
        if flat:
            setattr(call, part, getattr(call, part).unflatten(-1, (heads, -1)))
    out = _attend_packed(name, call, list(call.seq_len), mask)
    return out.flatten(1) if flat else out


@reference("atb::_npu_paged_attention", dtypes=PAGED, writes=("out",))
@takes(
    "Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads, int num_heads, float scale_value, "
    "Tensor block_table, Tensor context_lens, *, Tensor? workspace=None"
)
def npu_paged_attention(call: Arguments) -> Tensor:
    """One token (N, D) for each entry; context_lens says how many tokens of its pages it sees."""
    return _attend_pages("_npu_paged_attention", call, call.value_cache, [1] * len(call.query))


def _attend_pages(name: str, call: Arguments, values: Tensor, rows: list[int], mask: Tensor | None = None) -> Tensor:
    """Attend so many rows of each entry to the tokens of its pages, with the rows of a mask (T, longest) added."""
    query, keys, table, lengths = call.query, call.key_cache, call.block_table, call.context_lens.tolist()
    _check_heads(name, query, call.num_heads, keys.shape[2], call.num_kv_heads)
    _check_entries(name, len(rows), table, lengths)
    if max(lengths, default=0) > table.shape[1] * keys.shape[1]:
        raise RuntimeError(f"{name}: {max(lengths)} tokens in {table.shape[1]} blocks of {keys.shape[1]}")
    if sum(rows) != query.shape[0]:
        raise RuntimeError(f"{name}: seq_len {rows} for {query.shape[0]} tokens")
    if mask is not None and (mask.dim() != 2 or len(mask) != len(query) or mask.shape[1] < max(lengths)):
        raise NotImplementedError(f"the NPU simulator lacks {name} with a mask of shape {list(mask.shape)}")
    masks = [None] * len(rows) if mask is None else mask.split(rows)
    outputs = []
    for q, added, blocks, size in zip(query.split(rows), masks, table, lengths):
        key, value = read_pages(keys, blocks, size), read_pages(values, blocks, size)
        added = None if added is None else added[:, :size]
        outputs.append(compute_attention(q, key, value, call.scale_value, added)[0])
    return torch.cat(outputs).to(query.dtype)


@reference(
    "atb::_npu_paged_attention_mla", dtypes={name: PAGED[name] for name in ("query", "key_cache")}, writes=("out",)
)
@takes(
    "Tensor query, Tensor key_cache, int num_kv_heads, int num_heads, float scale_value, Tensor block_table, "
    "Tensor context_lens, int mla_vheadsize"
)
def npu_paged_attention_mla(call: Arguments) -> Tensor:
    """As _npu_paged_attention; the values are the first elements of the keys."""
    return _attend_pages("_npu_paged_attention", call, call.key_cache[..., : call.mla_vheadsize], [1] * len(call.query))


@reference("atb::_npu_paged_attention_splitfuse", dtypes={**PAGED, "mask": HALVES}, writes=("out",))
@takes(
    "Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor context_lens, Tensor mask, "
    "Tensor seq_len, int num_kv_heads, int num_heads, float scale_value"
)
def npu_paged_attention_splitfuse(call: Arguments) -> Tensor:
    """The last tokens (T, N, D) of each entry, with the rows of a mask (T, longest) added."""
    return _attend_pages("_npu_paged_attention_splitfuse", call, call.value_cache, call.seq_len.tolist(), call.mask)


@reference("atb::npu_multi_head_latent_attention.lse", dtypes=LATENT)
@takes(
    "Tensor q_nope, Tensor q_rope, Tensor ctkv, Tensor k_rope, Tensor block_tables, int[] context_lens, "
    "int q_headnum, float qk_scale, int kv_headnum, bool return_lse, *, str? mask_type=None, str? calc_type=None, "
    "str? cache_mode=None, Tensor? workspace=None"
)
def npu_multi_head_latent_attention_lse(call: Arguments) -> tuple[Tensor, Tensor]:
    """((T, N, 512), log-sum-exp (T, N, 1)) of one token for each entry; keys and values share ctkv."""
    name = "npu_multi_head_latent_attention"
    mask, cache, kind = call.mask_type, call.cache_mode, call.calc_type
    if mask not in (None, "undefined") or cache not in (None, "krope_ctkv"):
        raise NotImplementedError(f"the NPU simulator lacks {name} with mask_type {mask}, cache_mode {cache}")
    if kind not in (None, *LATENT_TYPES) or (call.return_lse and kind != "calc_type_ring"):
        raise NotImplementedError(f"the NPU simulator lacks {name} with calc_type {kind}, return_lse {call.return_lse}")
    _check_heads(name, call.q_nope, call.q_headnum, call.ctkv.shape[2], call.kv_headnum)
    _check_entries(name, len(call.q_nope), call.block_tables, call.context_lens)
    room, longest = call.block_tables.shape[1] * call.ctkv.shape[1], max(call.context_lens, default=0)
    if longest > room:
        warnings.warn(
            f"{name}: context_lens asks for {longest} tokens, and the block table names blocks of {room}: the rest is "
            "left out on the simulated NPU; a real one reads whatever memory lies beyond the table",
            stacklevel=2,
        )
    query, results = torch.cat((call.q_nope, call.q_rope), -1), []
    for i, (table, size) in enumerate(zip(call.block_tables, call.context_lens)):
        value = read_pages(call.ctkv, table, size)
        key = torch.cat((value, read_pages(call.k_rope, table, size)), -1)
        results.append(compute_attention(query[i : i + 1], key, value, call.qk_scale))
    out = torch.cat([output for output, _ in results]).to(call.q_nope.dtype)
    return out, torch.cat([sums for _, sums in results])[..., None].to(call.q_nope.dtype)


@reference("atb::npu_multi_head_latent_attention.lse_out", dtypes=LATENT, writes=("output", "lse"))
@derived_from(npu_multi_head_latent_attention_lse)
def npu_multi_head_latent_attention_lse_out(**arguments: Any) -> tuple[Tensor, ...]:
    """The log-sum-exp is written where it is asked for."""
    return npu_multi_head_latent_attention_lse(**arguments)[: 2 if arguments["return_lse"] else 1]


@reference("atb::npu_multi_head_latent_attention", dtypes=LATENT)
@reference("atb::npu_multi_head_latent_attention.out", dtypes=LATENT, writes=("output",))
@derived_from(npu_multi_head_latent_attention_lse, without=("return_lse", "workspace"))
def npu_multi_head_latent_attention(**arguments: Any) -> Tensor:
    """The first result only."""
    return npu_multi_head_latent_attention_lse(**arguments, return_lse=False)[0]


STORED = (*HALVES, torch.int8)
INTEGERS = (torch.int32, torch.int64)


def _reshaped_and_cached(rows: Tensor, cache: Tensor, slots: Tensor) -> Tensor:
    """Rows (T, N, D) into (blocks, block, N, D) or, FRACTAL_NZ, (blocks, N * D / part, block, part)."""
    part = 32 if cache.dtype == torch.int8 else 16
    plain = cache.shape[2:] == rows.shape[1:]
    parts = cache.shape[3] == part and cache.shape[1] * part == rows.shape[1] * rows.shape[2]
    if rows.dtype != cache.dtype or plain == parts:
        raise RuntimeError(f"_npu_reshape_and_cache: tokens {list(rows.shape)} for a cache {list(cache.shape)}")
    if parts:
        return scattered_into_parts(cache, rows.flatten(1), slots)
    return scatter_rows(cache.flatten(0, 1), rows, slots).view_as(cache)


@reference(
    "atb::_npu_reshape_and_cache",
    dtypes={"key": STORED, "value": STORED, "slot_indices": (torch.int32,)},
    writes=("key_cache", "value_cache"),
)
def npu_reshape_and_cache(
    key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_indices: Tensor
) -> tuple[Tensor, Tensor]:
    """Both caches with token i at slot_indices[i]."""
    first = _reshaped_and_cached(key, key_cache, slot_indices)
    return first, _reshaped_and_cached(value, value_cache, slot_indices)


@reference(
    "atb::_npu_reshape_and_cache_siso",
    dtypes={"key": STORED, "slot_indices": (torch.int32,)},
    writes=("key_cache",),
)
def npu_reshape_and_cache_siso(key: Tensor, key_cache: Tensor, slot_indices: Tensor) -> Tensor:
    return _reshaped_and_cached(key, key_cache, slot_indices)


@reference(
    "atb::_npu_rotary_embedding",
    dtypes={"positions": INTEGERS, "query": HALVES, "key": HALVES, "cos_sin_cache": FLOATS},
    writes=("query", "key"),
)
def npu_rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor, head_size: int, cos_sin_cache: Tensor, is_neox_style: bool
) -> tuple[Tensor, Tensor]:
    """Queries and keys (T, heads * head_size) turned by a cache (length, size) of cosines and sines; the rest stays."""
    mode, size = "half" if is_neox_style else "interleave", cos_sin_cache.shape[-1]
    cos, sin = as_wide(cos_sin_cache.to(query.dtype))[positions.flatten().long()].chunk(2, -1)
    if is_neox_style:
        cos, sin = torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)
    else:
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)

    def rotate_part(x: Tensor) -> Tensor:
        heads = as_wide(x).reshape(cos.shape[0], -1, head_size)
        first = heads[..., :size] * cos[:, None] + rotate_half(heads[..., :size], mode) * sin[:, None]
        return torch.cat((first, heads[..., size:]), -1).reshape(x.shape).to(x.dtype)

    return rotate_part(query), rotate_part(key)


@reference("atb::_npu_matmul_add_fp32", dtypes={"x": HALVES, "weight": HALVES, "C": (torch.float32,)}, writes=("C",))
def npu_matmul_add_fp32(x: Tensor, weight: Tensor, C: Tensor) -> Tensor:
    """C + x^T weight in float32."""
    return C + as_wide(x).transpose(-1, -2) @ as_wide(weight)


@reference(
    "atb::_npu_quantize_per_tensor",
    dtypes={"x": HALVES, "scale": HALVES, "zero_point": (torch.int8,)},
    writes=("y",),
)
def npu_quantize_per_tensor(x: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    """int8 of round(x / scale) + zero_point; an empty zero_point is zero."""
    for tensor in (x, scale, zero_point):
        if tensor.dim() > 8:
            raise RuntimeError(f"ATB tensor supports at most 8 dimensions, but got {tensor.dim()}")
    rounded = (as_wide(x) / as_wide(scale)).round()
    return (rounded if zero_point.numel() == 0 else rounded + zero_point).clamp(-128, 127).to(torch.int8)


LOADED = {"key_cache": STORED, "value_cache": STORED, "block_table": (torch.int32,), "context_lens": (torch.int32,)}


@reference("atb::npu_paged_cache_load", dtypes=LOADED)
@reference("atb::npu_paged_cache_load.out", dtypes=LOADED, writes=("key", "value"))
@takes(
    "Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor context_lens, *, Tensor? seq_starts=None, "
    "bool cumsum=False"
)
def npu_paged_cache_load(call: Arguments) -> tuple[Tensor, Tensor]:
    """Keys and values (T, N, D) of the entries, one after the other, from caches (blocks, block, N, D).

    An entry starts in the block of its table where seq_starts lies.
    """
    lengths = call.context_lens.diff() if call.cumsum else call.context_lens
    block, tokens = call.key_cache.shape[1], int(lengths.sum())
    entry = torch.arange(lengths.numel(), device=lengths.device).repeat_interleave(lengths.long(), output_size=tokens)
    position = torch.arange(tokens, device=lengths.device) - (lengths.cumsum(0) - lengths)[entry]
    first = 0 if call.seq_starts is None else (call.seq_starts // block)[entry]
    place = call.block_table[entry, (first + position // block).long()].long(), (position % block).long()
    return call.key_cache[place], call.value_cache[place]
