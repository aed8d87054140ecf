"""Operators of ATB, CANN's NNAL package (atb::...): caches, rotary positions, a sum of products, int8.

Formulas: torch_npu's docstrings of torch_npu.atb, and ATB's ReshapeAndCache, Rope, Linear and Elewise of
https://www.hiascend.com/document (Ascend Transformer Boost). Slots below zero store nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .cache_updates import scatter_rows, scattered_into_parts
from .numeric import as_wide
from .registry import FLOATS, HALVES, reference
from .rotary import rotate_half

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
def npu_paged_cache_load(
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    context_lens: Tensor,
    *,
    seq_starts: Tensor | None = None,
    cumsum: bool = False,
) -> tuple[Tensor, Tensor]:
    """Keys and values (T, N, D) of the entries, one after the other, from caches (blocks, block, N, D).

    An entry starts in the block of its table where seq_starts lies.
    """
    lengths = context_lens.diff() if cumsum else context_lens
    block, tokens = key_cache.shape[1], int(lengths.sum())
    entry = torch.arange(lengths.numel(), device=lengths.device).repeat_interleave(lengths.long(), output_size=tokens)
    position = torch.arange(tokens, device=lengths.device) - (lengths.cumsum(0) - lengths)[entry]
    first = 0 if seq_starts is None else (seq_starts // block)[entry]
    place = block_table[entry, (first + position // block).long()].long(), (position % block).long()
    return key_cache[place], value_cache[place]


@reference("atb::npu_paged_cache_load.out", dtypes=LOADED, writes=("key", "value"))
def npu_paged_cache_load_out(
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    context_lens: Tensor,
    *,
    seq_starts: Tensor | None = None,
    cumsum: bool = False,
) -> tuple[Tensor, Tensor]:
    options = {"seq_starts": seq_starts, "cumsum": cumsum}
    return npu_paged_cache_load(key_cache, value_cache, block_table, context_lens, **options)  # type: ignore[arg-type]
