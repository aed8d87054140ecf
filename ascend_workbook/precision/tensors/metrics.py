"""How far two tensors are apart: block by block in float64, each intermediate once, so that memory stays small, the
buffers stay in the processor's cache, and no sum overflows.

The ratios follow msprobe: relative error in the tensors' own dtype (float32 at least), both sides raised by that
dtype's epsilon where the baseline is zero. Source: mindstudio-probe 26.2.0, msprobe/core/compare/utils.py."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Elements at a time. Below 10000 OpenBLAS sums on the calling thread, whatever number of threads it has.
BLOCK = 1 << 13
THOUSANDTH, FIVE_THOUSANDTHS = 1e-3, 5e-3
#: Largest and smallest magnitudes whose squares, summed, stay inside float64.
WIDEST, NARROWEST = 1e140, 1e-140
INTEGERS = {2: np.int16, 4: np.int32, 8: np.int64}
#: Bits that a bfloat16 has fewer than the float32 it is widened to.
BFLOAT16_SHIFT = 16


@dataclass(frozen=True)
class Metrics:
    """Target against baseline. Errors leave out the places where both hold the same NaN or infinity.

    relative_l2 is |target - baseline| / |baseline| (0 if both are zero, inf if only the baseline is), `sampling` one
    standard error of it where only a sample was read (`measured` of `size` elements);
    nonfinite_places counts elements where one is NaN or infinite and the other is not the same, nonfinite those where
    either is. max_relative, and the shares of elements within 1e-3 and 5e-3, are msprobe's; max_ulp counts units in
    the last place of a floating dtype that both sides have, else it is None."""

    max_absolute: float
    relative_l2: float
    cosine: float | None
    unequal: int
    size: int
    nonfinite_places: int
    max_relative: float = 0.0
    within_thousandth: float = 1.0
    within_five_thousandths: float = 1.0
    euclidean: float = 0.0
    norm_target: float = 0.0
    norm_baseline: float = 0.0
    max_ulp: int | None = None
    nonfinite: int = 0
    measured: int = 0
    sampling: float | None = None


def measure_arrays(target: Array, baseline: Array, block: int = BLOCK, *, bfloat16: bool = False) -> Metrics:
    """Compares two arrays of one shape, of any dtype numpy has. Raises ValueError where the shapes differ."""
    if target.shape != baseline.shape:
        raise ValueError(f"shapes differ: {target.shape} and {baseline.shape}")
    left, right = _flatten_real(target), _flatten_real(baseline)
    meter = Meter(left.dtype, right.dtype, block, bfloat16=bfloat16)
    meter.add_all((left[at : at + block], right[at : at + block]) for at in range(0, left.size, block))
    return meter.make_metrics(target.size)


def _flatten_real(values: Array) -> Array:
    """Flatten an array; a complex tensor becomes its real and imaginary parts."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


@dataclass(frozen=True)
class Found:
    """What is found in blocks that hold finite values of at most 32 bits: |target - baseline|^2, |target|^2,
    |baseline|^2 and their product, in float64, and the rest as Metrics has it, as counts."""

    apart: float
    own: float
    other: float
    product: float
    largest: float
    largest_relative: float
    unequal: int
    near: int
    nearer: int
    count: int
    ulp: int


class Meter:
    """Takes both tensors block after block, of at most `block` elements each; buffers are made once."""

    def __init__(
        self,
        left: npt.DTypeLike,
        right: npt.DTypeLike,
        block: int = BLOCK,
        *,
        bfloat16: bool = False,
        parts: bool = False,
    ):
        left, right = np.dtype(left), np.dtype(right)
        self.a, self.b, self.d = np.empty(block), np.empty(block), np.empty(block)
        floating = left.kind == right.kind == "f"
        self.relative_dtype = np.result_type(left, right, np.float32) if floating else np.dtype(np.float64)
        self.r, self.mask = np.empty(block, self.relative_dtype), np.empty(block, bool)
        self.epsilon = self.relative_dtype.type(np.finfo(self.relative_dtype).eps)
        self.limits = [self.relative_dtype.type(limit) for limit in (THOUSANDTH, FIVE_THOUSANDTHS)]
        self.wide = 8 in (left.itemsize, right.itemsize)
        self.exact_integers = left == right and left.kind in "iu" and left.itemsize == 8
        self.ulp_dtype = INTEGERS.get(left.itemsize) if floating and left == right else None
        self.t = np.empty(block, self.ulp_dtype or np.int32)
        self.shift = BFLOAT16_SHIFT if bfloat16 else 0
        self.sums: dict[int, Array] = {}
        self.parts: list[tuple[float, float, int, int]] | None = [] if parts else None
        self.largest, self.largest_relative, self.ulp = 0.0, 0.0, 0
        self.unequal = self.odd = self.nonfinite = self.near = self.nearer = self.count = 0

    def add_all(self, blocks: Iterable[tuple[Array, Array]]) -> None:
        with np.errstate(all="ignore"):
            for x, y in blocks:
                self.add_block(x, y)

    def take_sums(self, figures: Found, parts: Sequence[tuple[float, float, int, int]]) -> None:
        """Take in blocks that were gone over elsewhere, and (apart, other) of each with the exponents of both."""
        self.count += figures.count
        self.unequal += figures.unequal
        self.near, self.nearer = self.near + figures.near, self.nearer + figures.nearer
        self.largest = max(self.largest, figures.largest)
        self.largest_relative = max(self.largest_relative, figures.largest_relative)
        self.ulp = max(self.ulp, figures.ulp)
        total = self.sums.setdefault(0, np.zeros(4))
        total += (figures.apart, figures.own, figures.other, figures.product)
        if self.parts is not None:
            self.parts += parts

    def add_block(self, x: Array, y: Array) -> None:
        """Add one block of both sides, flat and of equal length."""
        count, mask = x.size, self.mask[: x.size]
        self.count += count
        a, b, d = self.a[:count], self.b[:count], self.d[:count]
        np.copyto(a, x)
        np.copyto(b, y)
        own, other = float(a.dot(a)), float(b.dot(b))
        np.not_equal(x, y, out=mask)
        unequal = int(np.count_nonzero(mask))
        exponents = [0, 0, 0]
        if self.wide or not own + other < math.inf:
            x, y, unequal = self._zero_nonfinite(x, y, a, b, unequal)
            exponents = _scaling_exponents(a, b)
            own, other = float(a.dot(a)), float(b.dot(b))
        self.unequal += unequal
        if not unequal:
            self.near, self.nearer = self.near + count, self.nearer + count
            self._add_sums(exponents, a, b, None, 0.0, other, other, other)
            return
        product = float(a.dot(b))
        self._compute_difference(x, y, a, b, d)
        self.largest = max(self.largest, float(d.max()), -float(d.min()))
        self._add_relative_errors(x, y, a, b, mask)
        if self.ulp_dtype is not None:
            self._measure_ulps(x, y)
        self._add_sums(exponents, a, b, d, float(d.dot(d)), own, other, product)

    def _add_sums(self, exponents: Sequence[int], a: Array, b: Array, d: Array | None, *sums: float) -> None:
        exponent, own, other = exponents
        if not any(exponents):
            total = self.sums.setdefault(0, np.zeros(4))
            total += sums
        else:  # each side by its own size: beside a huge one an ordinary one would vanish
            x, y = np.ldexp(a, -own), np.ldexp(b, -other)
            a, b, d = (np.ldexp(side, -exponent) for side in (a, b, np.zeros(1) if d is None else d))
            scaled = ((exponent, d, d), (own, x, x), (other, y, y), (exponent, a, b))
            for at, (power, p, q) in enumerate(scaled):
                self.sums.setdefault(power, np.zeros(4))[at] += float(p.dot(q))
            sums = (float(d.dot(d)), 0.0, float(y.dot(y)))
        if self.parts is not None:
            self.parts.append((sums[0], sums[2], exponent, other))

    def _zero_nonfinite(self, x: Array, y: Array, a: Array, b: Array, unequal: int) -> tuple[Array, Array, int]:
        """Return copies with zeros where either side is not finite, and how many of the rest are unequal."""
        finite = np.isfinite(a) & np.isfinite(b)
        if finite.all():
            return x, y, unequal
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        self.nonfinite += int(np.count_nonzero(~finite))
        self.odd += int(np.count_nonzero(~finite & ~same))
        unequal = int(np.count_nonzero(~same))
        x, y = (np.where(finite, values, values.dtype.type(0)) for values in (x, y))
        a[~finite] = b[~finite] = 0.0
        return x, y, unequal

    def _compute_difference(self, x: Array, y: Array, a: Array, b: Array, d: Array) -> None:
        """Compute a - b; for 64-bit integers |a - b|, without the rounding that float64 would bring."""
        if self.exact_integers:
            larger = np.maximum(x, y).astype(np.uint64) - np.minimum(x, y).astype(np.uint64)
            np.copyto(d, larger.astype(np.float64))
        else:
            np.subtract(a, b, out=d)

    def _add_relative_errors(self, x: Array, y: Array, a: Array, b: Array, mask: Array) -> None:
        r = self.r[: x.size]
        if self.relative_dtype == np.float64:
            x, y = a, b
        elif x.dtype != self.relative_dtype or y.dtype != self.relative_dtype:
            x, y = x.astype(self.relative_dtype), y.astype(self.relative_dtype)
        np.equal(y, 0, out=mask)
        if mask.any():
            x, y = x.copy(), y.copy()
            x[mask] += self.epsilon
            y[mask] += self.epsilon
        np.subtract(x, y, out=r)
        np.divide(r, y, out=r)
        np.abs(r, out=r)
        self.largest_relative = max(self.largest_relative, float(r.max()))
        self.near += int(np.count_nonzero(np.less(r, self.limits[0], out=mask)))
        self.nearer += int(np.count_nonzero(np.less(r, self.limits[1], out=mask)))

    def _measure_ulps(self, x: Array, y: Array) -> None:
        """Measure the largest difference in units in the last place. Where signs differ the bits are far apart, so that
        a small difference shows that none do."""
        left, right, t = x.view(self.t.dtype), y.view(self.t.dtype), self.t[: x.size]
        np.subtract(left, right, out=t)
        largest = max(int(t.max()), -int(t.min()))
        bits = 8 * left.itemsize
        if largest > 1 << {16: 10, 32: 23, 64: 52}[bits]:
            lowest = np.iinfo(left.dtype).min
            places = [
                np.where(v < 0, lowest - v, v).astype(np.int64 if bits < 64 else np.float64) for v in (left, right)
            ]
            largest = int(np.abs(places[0] - places[1]).max())
        self.ulp = max(self.ulp, largest >> self.shift)

    def make_metrics(self, size: int) -> Metrics:
        """Make the metrics of all blocks; `size` counts the tensor's elements, sampled or not."""
        tops = [max((power for power, sums in self.sums.items() if sums[at]), default=0) for at in range(4)]
        apart, own, other, product = (
            sum(float(sums[at]) * 2.0 ** max(2 * (power - top), -1070) for power, sums in self.sums.items() if sums[at])
            for at, top in enumerate(tops)
        )
        with np.errstate(over="ignore"):
            norms = [float(np.ldexp(math.sqrt(value), top)) for value, top in zip((apart, own, other), tops)]
            relative = math.inf if apart else 0.0
            if other > 0:
                relative = float(np.ldexp(math.sqrt(apart) / math.sqrt(other), tops[0] - tops[2]))
        cosine = None
        if own > 0 and other > 0:
            cosine = float(np.ldexp(product / math.sqrt(own) / math.sqrt(other), 2 * tops[3] - tops[1] - tops[2]))
        count = max(self.count, 1)
        shares = (self.near / count, self.nearer / count) if self.count else (1.0, 1.0)
        return Metrics(
            self.largest,
            relative,
            cosine,
            self.unequal,
            size,
            self.odd,
            self.largest_relative,
            within_thousandth=shares[0],
            within_five_thousandths=shares[1],
            euclidean=norms[0],
            norm_target=norms[1],
            norm_baseline=norms[2],
            max_ulp=self.ulp if self.ulp_dtype else None,
            nonfinite=self.nonfinite,
            measured=self.count,
            sampling=self._sampling_error(relative),
        )

    def _sampling_error(self, relative: float) -> float | None:
        """Return one standard error of relative_l2 from the spread between the blocks read (the ratio estimator's, by
        the delta method); infinite where one block alone was read."""
        if self.parts is None:
            return None
        if relative == 0.0 or len(self.parts) < 2 or not math.isfinite(relative):
            return 0.0 if relative == 0.0 else math.inf
        columns = [np.array(values) for values in zip(*self.parts)]
        sums = [np.ldexp(x, 2 * (powers - powers[x > 0].max())) for x, powers in zip(columns, columns[2:])]
        apart, other = (squares / squares.sum() for squares in sums)  # shares of the whole: their squares stay inside
        return relative / 2 * math.sqrt(float(((apart - other) ** 2).sum()) * apart.size / (apart.size - 1))


def _scaling_exponents(a: Array, b: Array) -> list[int]:
    """Return the powers of two by which values are scaled down for their squares to stay inside float64: of both sides
    together, of a and of b; 0 in all but odd data."""
    own, other = (max(float(side.max()), -float(side.min())) for side in (a, b))
    peaks = (max(own, other), own, other)
    return [0 if NARROWEST < peak < WIDEST else math.frexp(peak)[1] for peak in peaks]  # of 0 that is 0
