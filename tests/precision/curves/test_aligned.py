"""Two series side by side, each figure by hand."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest

from ascend_workbook.precision.curves import aligned
from ascend_workbook.precision.curves.aligned import Aligned, align_series, exceeds_tolerance, first_place
from ascend_workbook.precision.curves.series import Series


def series(steps: list[int], values: list[float], decimals: int = -1, significant: int = -1) -> Series:
    return Series("loss", array("q", steps), array("d", values), decimals=decimals, significant=significant)


def apart_at(size: int, places: tuple[int, ...]) -> Aligned:
    """Two of `size` values, of which those at these places differ by half."""
    values = [1.5 if place in places else 1.0 for place in range(size)]
    return align_series(series(list(range(size)), [1.0] * size), series(list(range(size)), values))


@pytest.mark.parametrize(
    ("size", "places", "first"),
    [
        # few values: the first that differs
        (1, (0,), 0),
        (10, (4,), 4),
        (10, (), None),
        # more: three of five, the first included
        (11, (4,), None),
        (20, (), None),
        (20, (3, 5, 7), 3),
        (20, (3, 5, 8), None),
        (20, (3, 4), None),
        (20, (2, 7, 8, 9), 7),
        (20, (0, 1, 2), 0),
        # half of what follows where that is less
        (11, (10,), 10),
        (11, (9,), 9),
        (11, (8,), None),
        (11, (8, 10), 8),
        (11, (7,), None),
        (11, (7, 9), 7),
        (11, (6, 7), None),
        (11, (6, 8, 10), 6),
    ],
)
def test_from_which_place_on_curves_are_apart(size: int, places: tuple[int, ...], first: int | None) -> None:
    pair = apart_at(size, places)
    assert exceeds_tolerance(pair, 0.25).tolist() == [place in places for place in range(size)]
    assert not exceeds_tolerance(pair, 0.5).any(), "just as much is within"
    assert first_place(pair, 0.25) == first and first_place(pair, 0.5) is None


def test_spikes_are_left_aside_where_there_are_more_than_a_few_values() -> None:
    for size, first in ((10, 3), (11, None)):
        aside = np.array([place == 3 for place in range(size)])
        assert first_place(apart_at(size, (3, 4, 5)), 0.25) == 3
        assert first_place(apart_at(size, (3, 4, 5)), 0.25, aside) == first


def test_steps_of_both_and_of_one_within_the_range_of_both() -> None:
    left, right = series([3, 4, 8, 4], [1.0, 2.0, 4.0, 5.0]), series([0, 3, 8], [1.0, 6.0, 2.0])
    for sides, only in (((left, right, 1), ([3, 8], [])), ((right, left, -1), ([], [2, 7]))):
        pair = align_series(*sides)
        assert pair.steps.tolist() == [4 if sides[0] is left else 3]
        assert [pair.only_baseline.tolist(), pair.only_target.tolist()] == list(only)
    pair = align_series(left, right, 1)
    assert (pair.baseline.tolist(), pair.target.tolist()) == ([5.0], [6.0]), "what was read last of a step"
    assert (pair.at_baseline.tolist(), pair.at_target.tolist()) == ([3], [1])
    assert (pair.absolute.tolist(), pair.relative.tolist(), pair.smoothed.tolist()) == ([1.0], [0.2], [0.2])
    for sides in ((left, series([], []), 0), (series([], []), series([0, 1], [1.0, 1.0]), 0)):
        pair = align_series(*sides)
        assert not len(pair.steps) and not len(pair.only_baseline) and not len(pair.only_target)


@pytest.mark.parametrize(
    ("left", "right", "digits", "excess"),
    [
        (10.0, 12.0, (-1, -1), 0.2),
        (10.0, 12.0, (0, -1), 0.15),
        (10.0, 12.0, (-1, 0), 0.15),
        (10.0, 12.0, (0, 0), 0.1),
        (-10.0, -12.0, (0, 0), 0.1),
        (10.0, 10.5, (0, 0), 0.0),
        (0.0, 1.0, (0, 0), math.inf),
        (0.0, 0.0, (0, 0), 0.0),
        (1.0, math.nan, (0, 0), math.inf),
    ],
)
def test_what_printed_digits_leave_open_is_no_difference(
    left: float, right: float, digits: tuple[int, int], excess: float
) -> None:
    sides = [series([1], [value], count) for value, count in zip((left, right), digits)]
    assert align_series(*sides).excess.tolist() == [pytest.approx(excess)]


def test_what_significant_digits_leave_open() -> None:
    values = np.array([123.0, -0.5, 0.0, math.nan, math.inf, 1000.0])
    found = aligned._printed_uncertainty(series([], [], significant=3), values)
    assert found.tolist() == pytest.approx([0.5, 0.0005, 0.0, 0.0, 0.0, 5.0])
    assert aligned._printed_uncertainty(series([], [], significant=1), np.array([500.0])).tolist() == [50.0]
    assert aligned._printed_uncertainty(series([], [], 2), values).tolist() == [0.005] * 6
    assert aligned._printed_uncertainty(series([], []), values).tolist() == [0.0] * 6


@pytest.mark.parametrize(
    ("left", "right", "absolute", "relative"),
    [
        (1.0, 1.0, 0.0, 0.0),
        (2.0, 1.0, 1.0, 0.5),
        (-2.0, 1.0, 3.0, 1.5),
        (0.0, 1.0, 1.0, math.inf),
        (0.0, 0.0, 0.0, 0.0),
        (math.nan, math.nan, 0.0, 0.0),
        (math.nan, 1.0, math.inf, math.inf),
        (1.0, math.nan, math.inf, math.inf),
        (math.inf, math.inf, 0.0, 0.0),
        (math.inf, -math.inf, math.inf, math.inf),
        (1.0, math.inf, math.inf, math.inf),
        (math.inf, math.nan, math.inf, math.inf),
    ],
)
def test_differences(left: float, right: float, absolute: float, relative: float) -> None:
    found = aligned.measure_difference(np.array([left, 4.0]), np.array([right, 5.0]))
    assert [side.tolist() for side in found] == [[absolute, 1.0], [relative, 0.25]]


def test_means_of_the_last_values() -> None:
    assert aligned._trailing_mean(np.array([2.0, 4.0, 6.0, 9.0]), 2).tolist() == [2.0, 3.0, 5.0, 7.5]
    found = aligned._trailing_mean(np.array([2.0, math.nan, 6.0, 8.0, math.inf]), 2).tolist()
    assert found == pytest.approx([2.0, math.nan, math.nan, 7.0, math.nan], nan_ok=True)


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_value_that_is_no_number_takes_no_digit_from_the_means_behind_it(odd: float) -> None:
    """1e-17 beside 1 would be nothing."""
    found = aligned._trailing_mean(np.array([odd] + [1e-17] * 4), 2).tolist()
    assert found == [pytest.approx(mean, rel=1e-12, abs=0, nan_ok=True) for mean in [math.nan] * 2 + [1e-17] * 3]
    left, right = np.array([odd] + [1e-17] * 9), np.array([odd] + [3e-17] * 9)
    assert aligned.smooth_difference(left, right)[5:].tolist() == pytest.approx([2.0] * 5)


@pytest.mark.parametrize(("size", "window"), [(10, 5), (299, 5), (300, 6), (500, 10)])
def test_smoothed_differences_are_those_of_five_values_or_two_percent(size: int, window: int) -> None:
    """One value of 6 beside ones: 5 in the sum for as long as it is one of the last."""
    left, right = np.ones(size), np.ones(size)
    right[1] = 6.0
    expected = [5 / min(place + 1, window) if 1 <= place <= window else 0.0 for place in range(size)]
    assert aligned.smooth_difference(left, right).tolist() == pytest.approx(expected)
    assert aligned.smooth_difference(-2 * left, -left).tolist() == [0.5] * size
    assert aligned.smooth_difference(0 * left, 0 * left).tolist() == [0.0] * size
    assert aligned.smooth_difference(0 * left, left).tolist() == [math.inf] * size
