"""How far two tensors are apart: block by block in float64, so that memory stays small and no sum overflows.

`einsum` sums without BLAS: BLAS would start threads for every block (measured: 25 times slower).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Elements at a time; the buffers of a block stay in the processor's cache.
BLOCK = 1 << 15


@dataclass(frozen=True)
class Metrics:
    """Target against baseline. Errors leave out the places where both hold the same NaN or infinity.

    relative_l2 is |target - baseline| / |baseline| (0 if both are zero, inf if only the baseline is);
    nonfinite_places counts elements where one is NaN or infinite and the other is not the same.
    """

    max_absolute: float
    relative_l2: float
    cosine: float | None
    unequal: int
    size: int
    nonfinite_places: int


def measure(target: Array, baseline: Array, block: int = BLOCK) -> Metrics:
    """Compares two arrays of one shape, of any dtype numpy has. Raises ValueError where the shapes differ."""
    if target.shape != baseline.shape:
        raise ValueError(f"shapes differ: {target.shape} and {baseline.shape}")
    left, right = _real(target), _real(baseline)
    scale = _scale(left, right)
    sums, largest, unequal, odd = np.zeros(4), 0.0, 0, 0
    for start in range(0, left.size, block):
        x, y = left[start : start + block], right[start : start + block]
        unequal += _unequal(x, y)
        a, b, bad = _finite(x, y)
        odd += bad
        with np.errstate(over="ignore"):
            difference = _difference(x, y, a, b)
            largest = max(largest, float(np.abs(difference).max(initial=0.0)))
        a, b, difference = a * scale, b * scale, difference * scale
        sums += [np.einsum("i,i->", p, q) for p, q in ((difference, difference), (a, a), (b, b), (a, b))]
    apart, own, other, product = (float(value) for value in sums)
    cosine = product / math.sqrt(own) / math.sqrt(other) if own > 0 and other > 0 else None
    return Metrics(largest, _ratio(math.sqrt(apart), math.sqrt(other)), cosine, unequal, target.size, odd)


def _real(values: Array) -> Array:
    """Flat; a complex tensor as its real and imaginary parts."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _scale(*arrays: Array) -> float:
    """A power of two that keeps squares of float64 values inside float64; 1 for every smaller dtype."""
    peaks = [_peak(values) for values in arrays if values.dtype == np.float64 and values.size]
    peak = max(peaks, default=0.0)
    if peak == 0.0 or 1e-140 < peak < 1e140:
        return 1.0
    return float(2.0 ** -min(math.frexp(peak)[1], 1023)) if peak > 1 else float(2.0 ** min(-math.frexp(peak)[1], 1023))


def _peak(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max(initial=0.0))


def _finite(x: Array, y: Array) -> tuple[Array, Array, int]:
    """Both as float64 with what is not finite set to zero, and how many of those places do not match."""
    a, b = x.astype(np.float64), y.astype(np.float64)
    fine = np.isfinite(a) & np.isfinite(b)
    if fine.all():
        return a, b, 0
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    a[~fine] = 0.0
    b[~fine] = 0.0
    return a, b, int(np.count_nonzero(~fine & ~same))


def _difference(x: Array, y: Array, a: Array, b: Array) -> Array:
    """a - b; for 64-bit integers without the rounding that float64 would bring."""
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8 and x.dtype == y.dtype:
        larger = np.maximum(x, y).astype(np.uint64) - np.minimum(x, y).astype(np.uint64)
        return np.where(x >= y, 1.0, -1.0) * larger.astype(np.float64)
    return a - b


def _unequal(x: Array, y: Array) -> int:
    both_nan = np.isnan(x) & np.isnan(y) if x.dtype.kind == "f" and y.dtype.kind == "f" else False
    return int(np.count_nonzero((x != y) & ~both_nan))


def _ratio(apart: float, size: float) -> float:
    if size > 0:
        return apart / size
    return 0.0 if apart == 0 else math.inf
