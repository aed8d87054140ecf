"""Metrics against numpy's own in extended precision, and the laws any distance keeps."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ascend_workbook.precision.tensors.metrics import Meter, Metrics, measure_arrays

FLOATS = st.sampled_from([np.float16, np.float32, np.float64])
SHAPES = hnp.array_shapes(max_dims=3, max_side=9)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    dtype, shape = draw(FLOATS), draw(SHAPES)
    values = hnp.arrays(dtype, shape, elements=st.floats(-100, 100, width=16))
    return draw(values), draw(values)


@settings(deadline=None)
@given(pairs(), st.integers(1, 40))
def test_equals_the_definition_whatever_the_block(pair: tuple[np.ndarray, np.ndarray], block: int) -> None:
    target, baseline = pair
    found = measure_arrays(target, baseline, block)
    a, b = target.astype(np.longdouble), baseline.astype(np.longdouble)
    size = float(np.sqrt(((b) ** 2).sum()))
    apart = float(np.sqrt(((a - b) ** 2).sum()))
    assert found.max_absolute == pytest.approx(float(np.abs(a - b).max()), rel=1e-12, abs=0)
    assert found.relative_l2 == pytest.approx(apart / size if size else (0.0 if not apart else math.inf), rel=1e-12)
    assert found.unequal == int((target != baseline).sum()) and found.nonfinite_places == 0
    if found.cosine is not None:
        assert -1 - 1e-12 <= found.cosine <= 1 + 1e-12


@settings(deadline=None)
@given(pairs())
def test_equal_arrays_do_not_differ(pair: tuple[np.ndarray, np.ndarray]) -> None:
    found = measure_arrays(pair[0], pair[0].copy())
    assert (found.max_absolute, found.relative_l2, found.unequal, found.nonfinite_places) == (0.0, 0.0, 0, 0)


@given(pairs(), st.integers(-700, 700))
@settings(max_examples=60)
def test_relative_error_does_not_depend_on_the_scale(pair: tuple[np.ndarray, np.ndarray], exponent: int) -> None:
    """Squares of 1e200 overflow float64, those of 1e-200 vanish: the sums must not."""
    a, b = (values.astype(np.float64) for values in pair)
    plain = measure_arrays(a, b).relative_l2
    scaled = measure_arrays(np.ldexp(a, exponent), np.ldexp(b, exponent))
    assert scaled.relative_l2 == pytest.approx(plain, rel=1e-12) and math.isfinite(scaled.max_absolute)


@settings(deadline=None)
@given(hnp.arrays(np.float32, 50, elements=st.floats(-8, 8, width=32)), st.integers(0, 49), st.sampled_from("ni-"))
def test_nonfinite_places_are_counted_only_where_the_sides_differ(values: np.ndarray, at: int, kind: str) -> None:
    odd = {"n": np.nan, "i": np.inf, "-": -np.inf}[kind]
    left, right = values.copy(), values.copy()
    left[at] = odd
    assert measure_arrays(left, right).nonfinite_places == 1 and measure_arrays(right, left).nonfinite_places == 1
    right[at] = odd
    both = measure_arrays(left, right)
    assert (both.nonfinite_places, both.relative_l2, both.unequal) == (0, 0.0, 0)
    right[at] = -1.0 if kind == "n" else -odd
    assert measure_arrays(left, right).nonfinite_places == 1


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8, np.bool_, np.complex64, np.uint64])
def test_other_dtypes(dtype: type) -> None:
    a = np.array([0, 1, 1, 0, 1], dtype)
    b = np.array([0, 1, 0, 0, 1], dtype)
    found = measure_arrays(a, b)
    assert found.max_absolute == 1.0 and found.unequal == 1 and found.relative_l2 == pytest.approx(1 / math.sqrt(2))


def test_large_integers_keep_their_last_bit() -> None:
    a = np.array([2**62 + 1, -(2**62)], np.int64)
    assert measure_arrays(a, a - np.array([1, 0])).max_absolute == 1.0
    assert measure_arrays(np.array([2**63 - 1]), np.array([-(2**63)])).max_absolute == pytest.approx(2.0**64)


def test_empty_scalar_zero_and_wrong_shape() -> None:
    assert measure_arrays(np.empty((0, 3)), np.empty((0, 3))).relative_l2 == 0.0
    assert measure_arrays(np.float32(2).reshape(()), np.float32(1).reshape(())).relative_l2 == 1.0
    assert measure_arrays(np.ones(3), np.zeros(3)).relative_l2 == math.inf
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\)"):
        measure_arrays(np.ones(2), np.ones(3))


def test_every_figure_by_hand() -> None:
    """Differences 0, 0.004, 0.5 and 2 of 1, 1, 2 and -2."""
    found = measure_arrays(np.array([1.0, 1.004, 2.5, -4.0]), np.array([1.0, 1.0, 2.0, -2.0]))
    assert (found.max_absolute, found.max_relative, found.unequal, found.size, found.measured) == (2.0, 1.0, 3, 4, 4)
    assert (found.within_thousandth, found.within_five_thousandths) == (0.25, 0.5)
    assert found.euclidean == pytest.approx(math.sqrt(4.250016)) and found.norm_baseline == pytest.approx(math.sqrt(10))
    assert found.norm_target == pytest.approx(math.sqrt(1 + 1.004**2 + 6.25 + 16))
    assert found.relative_l2 == pytest.approx(math.sqrt(0.4250016))
    assert found.cosine == pytest.approx(15.004 / math.sqrt(10 * (1 + 1.004**2 + 6.25 + 16)))
    assert found.sampling is None


def test_a_zero_in_the_baseline_is_raised_by_its_dtypes_epsilon() -> None:
    """(1 + e - e) / e, as msprobe has it."""
    for dtype in (np.float32, np.float64):
        epsilon = float(np.finfo(dtype).eps)
        assert measure_arrays(np.array([1.0], dtype), np.array([0.0], dtype)).max_relative == pytest.approx(1 / epsilon)


def test_odd_places_are_told_apart() -> None:
    """The same on both sides, not the same, and one beside an ordinary difference."""
    left = np.array([np.nan, np.inf, np.inf, 3.0, 1.0], np.float32)
    right = np.array([np.nan, np.inf, -np.inf, 2.0, np.nan], np.float32)
    found = measure_arrays(left, right)
    assert (found.nonfinite, found.nonfinite_places, found.unequal, found.max_absolute) == (4, 2, 3, 1.0)
    assert found.relative_l2 == 0.5 and found.norm_target == 3.0 and found.norm_baseline == 2.0


def sampled(*blocks: tuple[npt.ArrayLike, npt.ArrayLike]) -> float | None:
    meter = Meter(np.float64, np.float64, 4, parts=True)
    meter.add_all((np.array(left), np.array(right)) for left, right in blocks)
    return meter.make_metrics(1000).sampling


def test_the_error_of_a_sample_by_hand() -> None:
    """Blocks with squares 1 of 4 and 4 of 4: relative error R = sqrt(5/8), residuals 1 - 4 R^2 and 4 - 4 R^2, each 1.5;
    their spread sqrt(2 * 2.25 * 2) / 8, over 2 R."""
    apart = ([3.0], [2.0]), ([4.0], [2.0])
    assert sampled(*apart) == pytest.approx(3 / 8 / (2 * math.sqrt(5 / 8)))
    assert sampled(apart[0]) == math.inf and sampled(([2.0], [2.0])) == 0.0 and sampled() == 0.0
    assert sampled(([1.0], [0.0]), ([1.0], [0.0])) == math.inf


@pytest.mark.parametrize("left", [1.0, -1.0, 1e200, -1e200])
@pytest.mark.parametrize("right", [2e200, -2e200])
def test_the_largest_magnitude_of_either_sign_and_side_sets_the_scale(left: float, right: float) -> None:
    """Squares of 1e200 are beyond float64."""
    found, other = (
        measure_arrays(np.array(pair[0]), np.array(pair[1])) for pair in (([left], [right]), ([right], [left]))
    )
    assert found.relative_l2 == pytest.approx(abs(left - right) / 2e200)
    assert found.norm_baseline == other.norm_target == pytest.approx(2e200)


def test_a_float32_is_no_widened_bfloat16_unless_told() -> None:
    sides = np.array([1 + 2**-7], np.float32), np.array([1.0], np.float32)
    assert measure_arrays(*sides).max_ulp == 2**16 and measure_arrays(*sides, bfloat16=True).max_ulp == 1


def test_a_huge_value_beside_an_ordinary_one_has_its_error() -> None:
    """2e200 for 1: the error is 2e200 times the baseline, and both norms are what they are."""
    for target, baseline in ((2e200, 1.0), (1.0, 2e200), (2e-200, 1.0), (1.0, 2e-200)):
        found = measure_arrays(np.array([target, 0.0]), np.array([baseline, 0.0]))
        assert found.relative_l2 == pytest.approx(abs(target - baseline) / baseline, rel=1e-12)
        assert found.norm_target == pytest.approx(target, abs=0) and found.cosine == pytest.approx(1.0)
        assert found.norm_baseline == pytest.approx(baseline, abs=0)
    assert measure_arrays(np.array([1e300]), np.array([1e-300])).relative_l2 == math.inf
    assert measure_arrays(np.array([1.0]), np.array([0.0])).relative_l2 == math.inf
    far = measure_arrays(np.array([2e200, 3.0]), np.array([1.0, 3.0]), block=1)
    assert far.relative_l2 == pytest.approx(2e200 / math.sqrt(10.0)), "in blocks of their own"


def test_metrics_that_say_nothing_more_are_those_of_no_element() -> None:
    assert measure_arrays(np.empty(0), np.empty(0)) == Metrics(0.0, 0.0, None, 0, 0, 0, max_ulp=0)
    assert measure_arrays(np.empty(0, int), np.empty(0, int)) == Metrics(0.0, 0.0, None, 0, 0, 0)


def test_a_meter_is_of_no_bfloat16_and_keeps_no_parts_unless_told() -> None:
    meter = Meter(np.float32, np.float32, 2)
    meter.add_all([(np.array([1 + 2**-7], np.float32), np.array([1.0], np.float32))])
    found = meter.make_metrics(1)
    assert (found.max_ulp, found.sampling, meter.parts) == (2**16, None, None)


@pytest.mark.parametrize(
    ("left", "right", "relative"),
    [
        # beside a zero both are raised by 2^-23: (1 + e - e) / e
        (np.float32(1.0), np.float32(0.0), 2.0**23),
        (np.float64(1.0), np.float64(0.0), 2.0**52),
        (np.float32(1.0), np.float16(0.0), 2.0**23),
        (np.float16(1.0), np.float32(0.0), 2.0**23),
        (np.float16(1.0), np.float16(0.0), 2.0**23),
        # in float32: 3 + 2^-22 raised is a tie, 3 + 2^-21, which stays when 2^-23 is taken away
        (np.float32(3 + 2.0**-22), np.float32(0.0), (3 + 2.0**-21) * 2**23),
        # 1000.5 - 0.25 has no place in float16, whose numbers are 0.5 apart there
        (np.float16(1000.5), np.float16(0.25), 4001.0),
        (np.float16(1000.5), np.float32(0.25), 4001.0),
        (np.float32(1000.5), np.float16(0.25), 4001.0),
    ],
)
def test_relative_errors_are_computed_in_float32_at_least(left: np.number, right: np.number, relative: float) -> None:
    found = measure_arrays(np.array([left]), np.array([right]))
    assert found.max_relative == relative and (found.within_thousandth, found.within_five_thousandths) == (0.0, 0.0)


def test_blocks_of_two_scales_are_added_by_their_distance() -> None:
    """3 and 4 times 2^500, scaled down by 2^502 and 2^503."""
    size = 2.0**500
    for order in ([3.0, 4.0], [4.0, 3.0]):
        found = measure_arrays(np.array(order) * size, np.array(order) * (size / 2), block=1)
        assert (found.norm_target, found.norm_baseline, found.euclidean) == (5 * size, 2.5 * size, 2.5 * size)
        assert found.relative_l2 == 1.0 and found.cosine == pytest.approx(1.0)


def test_the_error_of_a_sample_of_three_blocks() -> None:
    """Squares 1, 4 and 0 of 4 each: R^2 = 5/12, residuals -2/3, 7/3 and -5/3, whose squares are 26/3 together."""
    found = sampled(([3.0], [2.0]), ([4.0], [2.0]), ([2.0], [2.0]))
    assert found == pytest.approx(math.sqrt(26 / 3 * 3 / 2) / 12 / (2 * math.sqrt(5 / 12)))


def test_the_error_of_a_sample_whose_sides_are_of_far_sizes() -> None:
    """Squares 4e400 and 1e400 of 1 each: their shares are 0.8 and 0.2 of one and 0.5 and 0.5 of the other, so that the
    spread is sqrt(2 * 0.09 * 2). And blocks with squares 0 of 4 and 1 of 1: R^2 = 1/5, residuals -0.8, 0.8."""
    far = sampled(([2e200], [1.0]), ([1e200], [1.0]))
    assert far == pytest.approx(0.6 * math.sqrt(2.5) * 1e200 / 2)
    assert sampled(([2e200], [2e200]), ([2e200], [1e200])) == pytest.approx(1.6 / 5 / (2 * math.sqrt(1 / 5)))
    assert sampled(([1e300], [1e-300]), ([1e300], [1e-300])) == math.inf, "the error itself is beyond float64"


@given(hnp.arrays(np.float64, (3, 2, 4), elements=st.floats(0.5, 2.0)), st.integers(-700, 700))
@settings(max_examples=60, deadline=None)
def test_the_error_of_a_sample_does_not_depend_on_the_scale(values: np.ndarray, exponent: int) -> None:
    """Blocks of exponents of their own: 1, 100 and 10000 times these values, and one of zeros."""
    blocks = [(one * 100.0**at, (one + other) * 100.0**at) for at, (one, other) in enumerate(values)]
    blocks.append((np.zeros(4), np.zeros(4)))
    plain, scaled = (sampled(*((np.ldexp(a, power), np.ldexp(b, power)) for a, b in blocks)) for power in (0, exponent))
    assert plain is not None and 0 <= plain < 1 and scaled == pytest.approx(plain, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("size", [2.0**253, 2.0**256, 2.0**-266, 2.0**-283, 2.0**600, 2.0**-600])
def test_the_error_of_a_sample_by_hand_at_any_size(size: float, recwarn: pytest.WarningsRecorder) -> None:
    """Fourth powers of values overflow float64 from 2^256 on, and vanish below 2^-269."""
    apart = ([3 * size], [2 * size]), ([4 * size], [2 * size])
    assert sampled(*apart) == pytest.approx(3 / 8 / (2 * math.sqrt(5 / 8))) and not recwarn.list


def test_a_part_of_a_sample_is_of_its_own_exponent() -> None:
    """Blocks of 2^520 and 2^-520 beside each other: the second is nothing of either sum. Squares 1 and 0 of 1
    each: shares of 1 and 0 against 0.5 and 0.5, three blocks, and R^2 = 1/2."""
    big, small = 2.0**520, 2.0**-520
    assert sampled(([2 * big], [big]), ([4 * small], [small])) == 0.0
    assert sampled(([2 * big], [big]), ([small], [2 * small]), ([big], [big])) == pytest.approx(
        math.sqrt(0.5 * 1.5) * math.sqrt(0.5) / 2
    )


def test_orthogonal_sides() -> None:
    found = measure_arrays(np.array([3.0, 0.0]), np.array([0.0, 4.0]))
    assert (found.cosine, found.euclidean, found.norm_target, found.norm_baseline) == (0.0, 5.0, 3.0, 4.0)


def test_places_of_one_sign_are_counted_to_the_last_where_the_exponents_are_neighbours() -> None:
    """1 + 700 units and its double: 2^52 places apart, which float64 cannot tell of numbers of 62 bits."""
    one = 1 + 700 * 2.0**-52
    assert measure_arrays(np.array([2 * one]), np.array([one])).max_ulp == 1 << 52
