"""Rotary position embedding. Formulas: npu_rotary_mul.md, npu_apply_rotary_pos_emb.md, npu_interleave_rope.md.

y = x * cos + rotated(x) * sin. "half" rotates (x1, x2) to (-x2, x1) of the two halves of the last dimension,
"interleave" of its even and odd elements, "quarter" within each half.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .numeric import as_wide, sum_to
from .registry import FLOATS, reference


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
