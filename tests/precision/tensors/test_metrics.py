"""Metrics against numpy's own in extended precision, and the laws any distance keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers.precision.tensors.metrics import measure

FLOATS = st.sampled_from([np.float16, np.float32, np.float64])
SHAPES = hnp.array_shapes(max_dims=3, max_side=9)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    dtype, shape = draw(FLOATS), draw(SHAPES)
    values = hnp.arrays(dtype, shape, elements=st.floats(-100, 100, width=16))
    return draw(values), draw(values)


@given(pairs(), st.integers(1, 40))
def test_equals_the_definition_whatever_the_block(pair: tuple[np.ndarray, np.ndarray], block: int) -> None:
    target, baseline = pair
    found = measure(target, baseline, block)
    a, b = target.astype(np.longdouble), baseline.astype(np.longdouble)
    size = float(np.sqrt(((b) ** 2).sum()))
    apart = float(np.sqrt(((a - b) ** 2).sum()))
    assert found.max_absolute == pytest.approx(float(np.abs(a - b).max()), rel=1e-12, abs=0)
    assert found.relative_l2 == pytest.approx(apart / size if size else (0.0 if not apart else math.inf), rel=1e-12)
    assert found.unequal == int((target != baseline).sum()) and found.nonfinite_places == 0
    if found.cosine is not None:
        assert -1 - 1e-12 <= found.cosine <= 1 + 1e-12


@given(pairs())
def test_equal_arrays_do_not_differ(pair: tuple[np.ndarray, np.ndarray]) -> None:
    found = measure(pair[0], pair[0].copy())
    assert (found.max_absolute, found.relative_l2, found.unequal, found.nonfinite_places) == (0.0, 0.0, 0, 0)


@given(pairs(), st.integers(-700, 700))
@settings(max_examples=60)
def test_relative_error_does_not_depend_on_the_scale(pair: tuple[np.ndarray, np.ndarray], exponent: int) -> None:
    """Squares of 1e200 overflow float64, those of 1e-200 vanish: the sums must not."""
    a, b = (values.astype(np.float64) for values in pair)
    plain = measure(a, b).relative_l2
    scaled = measure(np.ldexp(a, exponent), np.ldexp(b, exponent))
    assert scaled.relative_l2 == pytest.approx(plain, rel=1e-12) and math.isfinite(scaled.max_absolute)


@given(hnp.arrays(np.float32, 50, elements=st.floats(-8, 8, width=32)), st.integers(0, 49), st.sampled_from("ni-"))
def test_nonfinite_places_are_counted_only_where_the_sides_differ(values: np.ndarray, at: int, kind: str) -> None:
    odd = {"n": np.nan, "i": np.inf, "-": -np.inf}[kind]
    left, right = values.copy(), values.copy()
    left[at] = odd
    assert measure(left, right).nonfinite_places == 1 and measure(right, left).nonfinite_places == 1
    right[at] = odd
    both = measure(left, right)
    assert (both.nonfinite_places, both.relative_l2, both.unequal) == (0, 0.0, 0)
    right[at] = -1.0 if kind == "n" else -odd
    assert measure(left, right).nonfinite_places == 1


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8, np.bool_, np.complex64, np.uint64])
def test_other_dtypes(dtype: type) -> None:
    a = np.array([0, 1, 1, 0, 1], dtype)
    b = np.array([0, 1, 0, 0, 1], dtype)
    found = measure(a, b)
    assert found.max_absolute == 1.0 and found.unequal == 1 and found.relative_l2 == pytest.approx(1 / math.sqrt(2))


def test_large_integers_keep_their_last_bit() -> None:
    a = np.array([2**62 + 1, -(2**62)], np.int64)
    assert measure(a, a - np.array([1, 0])).max_absolute == 1.0
    assert measure(np.array([2**63 - 1]), np.array([-(2**63)])).max_absolute == pytest.approx(2.0**64)


def test_empty_scalar_zero_and_wrong_shape() -> None:
    assert measure(np.empty((0, 3)), np.empty((0, 3))).relative_l2 == 0.0
    assert measure(np.float32(2).reshape(()), np.float32(1).reshape(())).relative_l2 == 1.0
    assert measure(np.ones(3), np.zeros(3)).relative_l2 == math.inf
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\)"):
        measure(np.ones(2), np.ones(3))
