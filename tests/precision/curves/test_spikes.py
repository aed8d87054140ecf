"""Spikes by hand, and limits by their definition."""

from __future__ import annotations

import math
import statistics
from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.precision.curves import spikes
from ascend_workbook.precision.curves.series import Series
from ascend_workbook.precision.curves.spikes import Spike, find_spikes


def spikes_of(values: list[float], steps: list[int] | None = None) -> list[Spike] | None:
    return find_spikes(Series("loss", array("q", steps or range(len(values))), array("d", values)))


def flat(size: int, places: dict[int, float]) -> list[float]:
    return [places.get(place, 1.0) for place in range(size)]


def limits_by_definition(values: list[float]) -> list[float]:
    """Level of the 8 before; 8 standard deviations by the MAD of the 64 differences before, 16 at least, or a tenth."""
    limits, rest = [math.inf] * len(values), []
    for at in range(8, len(values)):
        level = statistics.median(values[at - 8 : at])
        last = rest[-64:]
        if len(last) >= 16:
            middle = statistics.median(last)
            spread = 1.4826 * statistics.median(abs(value - middle) for value in last)
            limits[at] = level + max(middle + 8 * spread, 0.1 * abs(level))
        rest.append(values[at] - level)
    return limits


@settings(max_examples=30, deadline=None)
@given(st.one_of(st.integers(25, 180), st.sampled_from([8 + 63, 8 + 64, 8 + 65, 8 + 66])), st.integers(0, 99))
def test_limits_are_those_of_the_definition_whatever_the_block(size: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(30.0, (0.01, 1.0, 3.0)[seed % 3], size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spikes, "BLOCK", 7)
        level, limit = spikes._compute_limits(values)
    assert limit.tolist() == pytest.approx(limits_by_definition(values.tolist()))
    assert level[:8].tolist() == [math.inf] * 8 and level[8] == pytest.approx(statistics.median(values[:8]))


def test_none_is_judged_before_the_twenty_fifth_value() -> None:
    assert spikes_of(flat(24, {23: 5.0})) is None
    assert spikes_of(flat(25, {23: 5.0})) == []
    assert spikes_of(flat(25, {24: 5.0})) == [Spike(24, 24, 24, 5.0, 1.0, 23)]
    assert not Spike(24, 24, 24, 5.0, 1.0, 23).lasting


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ({50: 1.1}, []),
        ({50: 1.11}, [(50, 50, 1.11)]),
        ({50: 0.0}, []),
        # back where no more than a quarter of the rise is left
        ({50: 3.0, 51: 1.5}, [(50, 50, 3.0)]),
        ({50: 3.0, 51: 1.6}, [(50, 51, 3.0)]),
        ({50: 3.0, 51: 1.6, 52: 1.6}, [(50, 52, 3.0)]),
        # of the peak, which stands within 8 values
        ({50: 2.0, 51: 3.0, 52: 5.0}, [(50, 52, 5.0)]),
        ({50: 2.0, 51: 5.0, 52: 2.1}, [(50, 52, 5.0)]),
        ({50: 2.0, 57: 5.0}, [(50, 57, 5.0)]),
        ({50: 2.0, 58: 5.0}, [(50, 50, 2.0), (58, 58, 5.0)]),
        # four values behind one belong to it
        ({50: 3.0, 51: 3.0, 52: 3.0, 56: 3.0}, [(50, 52, 3.0)]),
        ({50: 3.0, 60: 3.0}, [(50, 50, 3.0), (60, 60, 3.0)]),
        ({50: 3.0, 54: 1.2, 55: 1.2}, [(50, 50, 3.0), (55, 55, 1.2)]),
    ],
)
def test_where_a_spike_begins_and_ends(places: dict[int, float], found: list[tuple[int, int, float]]) -> None:
    result = spikes_of(flat(100, places))
    assert result is not None
    assert [(spike.first, spike.last, spike.peak) for spike in result] == found
    assert all((spike.level, spike.at, spike.lasting) == (1.0, spike.first, False) for spike in result)


@pytest.mark.parametrize(
    ("size", "high", "lasting"),
    [(200, 63, False), (200, 64, True), (200, 9, False), (58, 8, False), (59, 9, True), (51, 1, False)],
)
def test_a_loss_that_does_not_come_back(size: int, high: int, lasting: bool) -> None:
    """For 64 values, or for more than 8 to the end of the log."""
    (spike,) = spikes_of(flat(size, dict.fromkeys(range(50, 50 + high), 3.0))) or []
    assert (spike.first, spike.last, spike.lasting) == (50, 49 + high, lasting)


@pytest.mark.parametrize(
    ("steps", "skip"),
    [
        ([*range(100)], 49),
        ([*range(0, 1000, 10)], 481),
        ([*range(5, 1005, 10)], 486),
        ([*range(1, 52), *range(151, 5051, 100)], 50),
        ([*range(1, 31), *range(131, 7131, 100)], 1932),
    ],
)
def test_what_is_to_be_left_out_begins_two_intervals_before(steps: list[int], skip: int) -> None:
    (spike,) = spikes_of(flat(100, {50: 3.0}), steps) or []
    assert (spike.first, spike.skip_first) == (steps[50], skip)


@pytest.mark.parametrize(("start", "skip"), [(1, 0), (0, 0), (-5, -5), (7, 0)])
def test_nothing_is_left_out_before_the_run(start: int, skip: int) -> None:
    """Steps of one, then of a hundred: two intervals before the spike lies nothing."""
    steps = [*range(start, start + 30), *range(1000, 8000, 100)]
    (spike,) = spikes_of(flat(100, {26: 3.0}), steps) or []
    assert (spike.first, spike.skip_first) == (start + 26, skip)


def test_what_is_no_number_takes_the_value_before_it() -> None:
    found = spikes._fill_gaps(np.array([math.nan, 1.0, math.nan, math.inf, 2.0, -math.inf]))
    assert found.tolist() == [0.0, 1.0, 1.0, 1.0, 2.0, 2.0]
