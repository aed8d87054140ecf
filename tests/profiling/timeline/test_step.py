"""Lanes, levels, the step in detail, and what is merged where there is too much of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.timeline.step import MERGED, arrange_lanes, compute_levels, make_window, split_lanes
from ascend_workbook.profiling.trace import Trace
from tests.profiling.conftest import DATA


def i64(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


def lane(*values: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(values, np.int32)


def numbers(text: str) -> list[int]:
    return [int(one) for one in text.split()]


def test_lanes_stand_in_the_order_of_the_work() -> None:
    trace = load_profile(DATA / "cuda.pt.trace.json").trace
    found, number = arrange_lanes(trace)
    assert [one.group for one in found] == ["steps", "host", "launch", "streams", "communication"]
    assert all(found[at].name == trace.lanes[trace.lane[row]] for row, at in enumerate(number.tolist()))


def test_levels_keep_apart_what_nests_and_what_overlaps() -> None:
    starts, lengths = i64(0, 10, 12, 50, 0, 60, 100), i64(100, 20, 5, 10, 30, 60, 5)
    found = compute_levels(lane(0, 0, 0, 0, 1, 0, 0), starts, lengths)
    assert found.tolist() == [0, 1, 2, 1, 0, 1, 2]  # [60, 120) leaves the first; [100, 105) stands below both


def test_sub_lanes_part_only_what_does_not_nest() -> None:
    starts, lengths = i64(0, 10, 50, 60, 100, 100), i64(100, 20, 100, 10, 10, 10)
    nesting = split_lanes(lane(0, 0, 0, 0, 0, 0), starts, lengths, lane(*[1] * 6))
    assert nesting.tolist() == [0, 0, 1, 0, 0, 0]
    flat = split_lanes(lane(0, 0, 0, 0, 0, 0), starts, lengths, lane(*[0] * 6))
    assert flat.tolist() == [0, 1, 1, 2, 0, 2]


@pytest.fixture
def crowded(profile_of: Callable[..., Profile]) -> Trace:
    """A step with 900 kernels of 1 us and one of 60 us."""
    kernels = [("compute", "small", at, 1) for at in range(900)] + [("compute", "large", 930, 60)]
    return profile_of(kernels, steps=1).trace


def test_short_events_are_merged_and_counted(crowded: Trace) -> None:
    found = make_window(crowded, 0, 1_000_000, most=100)
    assert found.boxes.row.size <= 100
    assert found.event_count == len(crowded) and found.merged_count == 900
    assert int(found.boxes.own_ns[found.boxes.row == MERGED].sum()) == 900_000
    single = [crowded.names[crowded.name[row]] for row in found.boxes.row.tolist() if row != MERGED]
    assert sorted(single) == ["ProfilerStep#0", "large"]
    assert found.resolution_ns > 1000


def test_what_fits_is_not_merged(crowded: Trace) -> None:
    found = make_window(crowded, 0, 1_000_000, most=2000)
    assert (found.merged_count, found.resolution_ns, found.event_count) == (0, 0, 902)
