"""Ranges add up as their errors do: together, or apart."""

from __future__ import annotations

import math

import pytest

from ascend_workbook.estimates.ranges import ZERO, Range, add_ranges


def test_a_range_runs_from_low_to_high() -> None:
    with pytest.raises(ValueError, match="low to high"):
        Range(2.0, 1.0, 3.0)


def test_a_spread_is_one_factor_down_and_up() -> None:
    told = Range.around(100.0, 0.5)
    assert told.high / told.middle == pytest.approx(told.middle / told.low) == pytest.approx(math.exp(0.6408))


def test_what_errs_alone_cancels_and_what_errs_together_does_not() -> None:
    terms = [Range(7.0, 10.0, 13.0), Range(6.0, 10.0, 14.0)]
    assert add_ranges(terms, 0.0) == Range(15.0, 20.0, 25.0)  # 3 and 4 apart make 5
    assert add_ranges(terms, 1.0) == Range(13.0, 20.0, 27.0)  # 3 and 4 together make 7
    half = add_ranges(terms, 0.5)
    assert half.high == pytest.approx(20 + math.sqrt(0.5 * 25 + 0.5 * 49))


def test_sums_and_products_keep_the_order() -> None:
    told = Range(1.0, 2.0, 5.0)
    assert told.plus(told) == told.times(2) == Range(2.0, 4.0, 10.0)
    assert add_ranges([], 0.5) == ZERO == told.times(0)
    with pytest.raises(ValueError, match="at least 0"):
        told.times(-1)
