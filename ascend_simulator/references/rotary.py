"""Rotary position embedding. Formulas: npu_rotary_mul.md, npu_apply_rotary_pos_emb.md, npu_interleave_rope.md.

y = x * cos + rotated(x) * sin. "half" rotates (x1, x2) to (-x2, x1) of the two halves of the last dimension,
"interleave" of its even and odd elements, "quarter" within each half.

torch_npu.npu_mrope: rotary embedding of flat queries and keys from a cache, by one position or one per section.

Formula and limits: npu_mrope.md (registry.DOCUMENTS).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide, sum_to
from .registry import FLOATS, Arguments, reference, takes


def rotate_half(x: Tensor, mode: str) -> Tensor:
    if mode == "interleave":
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    if mode == "quarter":
        return torch.cat([rotate_half(part, "half") for part in x.chunk(2, -1)], -1)
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def _check_mode(operator: str, mode: str) -> None:
    if mode not in ("half", "interleave"):
        raise RuntimeError(f"The rotary_mode of {operator} should be half or interleave, but got {mode}")


@reference("npu::npu_rotary_mul", dtypes={"input": FLOATS, "r1": FLOATS, "r2": FLOATS})
def npu_rotary_mul(
    input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None
) -> Tensor:
    """r1 is the cosine, r2 the sine, cast to the input's dtype; a matrix `rotate` replaces the rotation."""
    _check_mode("npu_rotary_mul", rotary_mode)
    x, cos, sin = as_wide(input), as_wide(r1.to(input.dtype)), as_wide(r2.to(input.dtype))
    turned = rotate_half(x, rotary_mode) if rotate is None else x @ as_wide(rotate)
    return (x * cos + turned * sin).to(input.dtype)


@reference("npu::npu_rotary_mul_backward", dtypes={"grad": FLOATS, "input": FLOATS, "r1": FLOATS, "r2": FLOATS})
def npu_rotary_mul_backward(
    grad: Tensor, input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half"
) -> tuple[Tensor, Tensor, Tensor]:
    """(dx, dcos, dsin). The rotation is its own inverse but for the sign."""
    _check_mode("npu_rotary_mul_backward", rotary_mode)
    gradient, x = as_wide(grad), as_wide(input)
    cos, sin = as_wide(r1.to(input.dtype)), as_wide(r2.to(input.dtype))
    dx = gradient * cos - rotate_half(gradient * sin, rotary_mode)
    dcos, dsin = sum_to(gradient * x, r1), sum_to(gradient * rotate_half(x, rotary_mode), r2)
    return dx.to(input.dtype), dcos.to(input.dtype), dsin.to(input.dtype)


@reference(
    "npu::npu_apply_rotary_pos_emb",
    dtypes={"query": FLOATS, "key": FLOATS, "cos": FLOATS, "sin": FLOATS},
    writes=("query", "key"),
)
def npu_apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    """Query and key rotated; the operator overwrites both."""
    if rotary_mode not in ("half", "quarter", "interleave"):
        raise RuntimeError(f"The layout should be half/quarter/interleave, but got {rotary_mode}")

    def rotate_part(x: Tensor) -> Tensor:
        return (as_wide(x) * as_wide(cos) + rotate_half(as_wide(x), rotary_mode) * as_wide(sin)).to(x.dtype)

    return rotate_part(query), rotate_part(key)


@reference("npu::npu_interleave_rope", dtypes={"x": FLOATS, "cos": FLOATS, "sin": FLOATS})
def npu_interleave_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Even elements of the last dimension first, then odd ones; then "half"."""
    sorted_x = torch.cat([as_wide(x)[..., ::2], as_wide(x)[..., 1::2]], -1)
    return (sorted_x * as_wide(cos) + rotate_half(sorted_x, "half") * as_wide(sin)).to(x.dtype)


INTEGERS = (torch.int32, torch.int64)
SECTIONS = ([16, 24, 24], [24, 20, 20], [8, 12, 12], [16, 16, 16, 16])


@reference("npu::npu_mrope", dtypes={"positions": INTEGERS, "query": FLOATS, "key": FLOATS, "cos_sin_cache": FLOATS})
@takes(
    "Tensor positions, Tensor query, Tensor key, Tensor cos_sin_cache, int head_size, *, int[]? mrope_section=None, "
    'str? rotary_mode="half", str? cache_mode="default"'
)
def npu_mrope(call: Arguments) -> tuple[Tensor, Tensor]:
    """positions (tokens) or (sections, tokens), queries (tokens, heads * head_size), cache (length, 2 * half).

    Rotates the first 2 * half elements of each head; the rest stays.
    """
    mode, sections = call.rotary_mode or "half", list(call.mrope_section or [])
    _check_mrope(
        call.positions, call.query, call.cos_sin_cache, call.head_size, sections, mode, call.cache_mode or "default"
    )
    cos, sin = as_wide(call.cos_sin_cache)[call.positions.long()].chunk(2, -1)
    if call.positions.dim() == 2:
        cos, sin = (_by_section(part, sections, call.cache_mode == "interleave") for part in (cos, sin))
    if mode == "half":
        cos, sin = (torch.cat((part, part), -1)[:, None] for part in (cos, sin))
    else:
        cos, sin = (part.repeat_interleave(2, -1)[:, None] for part in (cos, sin))
    size = cos.shape[-1]

    def rotate_part(x: Tensor) -> Tensor:
        heads = as_wide(x).unflatten(-1, (-1, call.head_size))
        first = heads[..., :size]
        turned = first * cos + rotate_half(first, "half" if mode == "half" else "interleave") * sin
        return torch.cat((turned, heads[..., size:]), -1).flatten(1).to(x.dtype)

    return rotate_part(call.query), rotate_part(call.key)


def _by_section(x: Tensor, sections: list[int], interleaved: bool) -> Tensor:
    """(sections, tokens, half) to (tokens, half): one part after the other, or each third element from one."""
    if not interleaved:
        return torch.cat([part[i] for i, part in enumerate(x.split(sections, -1))], -1)
    mixed = x[0].clone()
    for row in (1, 2):
        mixed[:, row : 3 * sections[1] : 3] = x[row, :, row : 3 * sections[1] : 3]
    return mixed


def _check_mrope(
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
