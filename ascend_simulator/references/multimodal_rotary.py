"""torch_npu.npu_mrope: rotary embedding of flat queries and keys from a cache, by one position or one per section.

Formula and limits: npu_mrope.md (registry.DOCUMENTS).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .numeric import as_wide
from .registry import FLOATS, reference
from .rotary import rotate_half

INTEGERS = (torch.int32, torch.int64)
SECTIONS = ([16, 24, 24], [24, 20, 20], [8, 12, 12], [16, 16, 16, 16])


@reference("npu::npu_mrope", dtypes={"positions": INTEGERS, "query": FLOATS, "key": FLOATS, "cos_sin_cache": FLOATS})
def npu_mrope(
    positions: Tensor,
    query: Tensor,
    key: Tensor,
    cos_sin_cache: Tensor,
    head_size: int,
    *,
    mrope_section: Sequence[int] | None = None,
    rotary_mode: str | None = "half",
    cache_mode: str | None = "default",
) -> tuple[Tensor, Tensor]:
    """positions (tokens) or (sections, tokens), queries (tokens, heads * head_size), cache (length, 2 * half).

    Rotates the first 2 * half elements of each head; the rest stays.
    """
    mode, sections = rotary_mode or "half", list(mrope_section or [])
    _check_arguments(positions, query, cos_sin_cache, head_size, sections, mode, cache_mode or "default")
    cos, sin = as_wide(cos_sin_cache)[positions.long()].chunk(2, -1)
    if positions.dim() == 2:
        cos, sin = (_by_section(part, sections, cache_mode == "interleave") for part in (cos, sin))
    if mode == "half":
        cos, sin = (torch.cat((part, part), -1)[:, None] for part in (cos, sin))
    else:
        cos, sin = (part.repeat_interleave(2, -1)[:, None] for part in (cos, sin))
    size = cos.shape[-1]

    def rotate_part(x: Tensor) -> Tensor:
        heads = as_wide(x).unflatten(-1, (-1, head_size))
        first = heads[..., :size]
        turned = first * cos + rotate_half(first, "half" if mode == "half" else "interleave") * sin
        return torch.cat((turned, heads[..., size:]), -1).flatten(1).to(x.dtype)

    return rotate_part(query), rotate_part(key)


def _by_section(x: Tensor, sections: list[int], interleaved: bool) -> Tensor:
    """(sections, tokens, half) to (tokens, half): one part after the other, or each third element from one."""
    if not interleaved:
        return torch.cat([part[i] for i, part in enumerate(x.split(sections, -1))], -1)
    mixed = x[0].clone()
    for row in (1, 2):
        mixed[:, row : 3 * sections[1] : 3] = x[row, :, row : 3 * sections[1] : 3]
    return mixed


def _check_arguments(
    positions: Tensor, query: Tensor, cache: Tensor, head_size: int, sections: list[int], mode: str, cache_mode: str
) -> None:
    if cache_mode not in ("default", "interleave"):
        raise RuntimeError(f"cache_mode only support default or interleave, but got {cache_mode}")
    if mode not in ("half", "interleave", "interleaved"):
        raise RuntimeError(f"npu_mrope: rotary_mode should be half or interleave, but got {mode}")
    multiple = 16 if query.dtype == torch.float32 else 32
    if head_size % multiple or cache.shape[-1] % multiple or cache.shape[-1] > head_size:
        raise RuntimeError(f"npu_mrope: head_size {head_size} and the cache's width must be multiples of {multiple}")
    if positions.dim() == 1:
        if any(sections):
            raise RuntimeError("npu_mrope: positions of one dimension take mrope_section [0, 0, 0]")
        return
    if sections not in SECTIONS or sum(sections) != cache.shape[-1] // 2 or positions.shape[0] != len(sections):
        raise RuntimeError(f"npu_mrope: mrope_section {sections} for positions {list(positions.shape)}")
    if len(sections) == 4 and cache_mode == "interleave":
        raise RuntimeError("npu_mrope: mrope_section [16, 16, 16, 16] supports cache_mode default only")
