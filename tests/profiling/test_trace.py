"""A Trace checks itself; steps and launches decide which step an event belongs to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.profiling.attribution import (
    Nesting,
    _find_parents,
    _parents_one_by_one,
    find_innermost,
    nest_by_lane,
)
from ascend_workbook.profiling.trace import Event, Trace, build_trace
from tests.profiling.conftest import US, step


def small() -> Trace:
    events = [
        step(4, 0, 90),
        step(5, 100, 100),
        Event("a", "host_op", "t", 10 * US, 5 * US),
        Event("late", "compute", "d", 120 * US, 5 * US, launched_by=2),
        Event("between", "host_op", "t", 95 * US, 2 * US),
        Event("after", "compute", "d", 500 * US, 5 * US),
        Event("after", "host_op", "t", 500 * US, 5 * US),
        Event("before", "compute", "d", -5 * US, 1 * US),
    ]
    return build_trace(events, source="", dialect="kineto")


def test_steps_of_events() -> None:
    trace = small()
    assert [(one.number, one.start_ns, one.end_ns) for one in trace.steps] == [(4, 0, 100_000), (5, 100_000, 200_000)]
    # launched in step 4 though it ran in 5; between two marks; after the last on the device, and on the host; before
    assert trace.step.tolist()[2:] == [0, 0, 0, 1, -1, -1]


def test_without_marks_the_whole_is_one_step() -> None:
    trace = build_trace(
        [Event("a", "host_op", "t", 5, 5), Event("b", "host_op", "t", 20, 5)], source="", dialect="kineto"
    )
    assert not trace.marked
    assert [(one.number, one.start_ns, one.end_ns) for one in trace.steps] == [(0, 5, 25)]


@pytest.mark.parametrize(
    "change",
    [
        {"duration_ns": np.zeros(1, np.int64)},
        {"duration_ns": np.full(8, -1, np.int64)},
        {"start_ns": np.zeros(8, np.float64)},
        {"name": np.full(8, 99, np.int32)},
        {"kind": np.full(8, 99, np.int8)},
        {"step": np.full(8, 2, np.int32)},
    ],
)
def test_columns_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="trace"):
        replace(small(), **change)


def test_nesting() -> None:
    starts, lengths = np.array([0, 10, 20, 50, 200], np.int64), np.array([100, 30, 10, 20, 10], np.int64)
    nesting = Nesting(starts, lengths, [7, 8, 9, 5, 6])
    moments = np.array([5, 25, 35, 45, 60, 90, 150, 205], np.int64)
    assert nesting.innermost_at(moments).tolist() == [7, 9, 8, 7, 5, 7, -1, 6]
    assert dict(zip(nesting.rows.tolist(), nesting.self_ns().tolist())) == {7: 50, 8: 20, 9: 10, 5: 20, 6: 10}


def test_what_an_operator_lacks_comes_from_the_nearest_around_it() -> None:
    nesting = Nesting(np.array([0, 10, 20, 200], np.int64), np.array([100, 30, 10, 10], np.int64), [3, 1, 0, 2])
    texts = ["", "own", "outer"]
    for before, wanted, after in (
        ([0, 0, 0, 2], [0, 1, 2], [2, 2, 0, 2]),  # 2 has nothing around it
        ([0, 1, 0, 2], [0, 1], [1, 1, 0, 2]),
        ([0, 0, 0, 2], [0], [2, 0, 0, 2]),
        ([0, 0, 0, 0], [0], [0, 0, 0, 0]),
    ):
        values = np.array(before, np.int32)
        nesting.inherit_values(values, [not text for text in texts], np.array(wanted, np.int32))
        assert values.tolist() == after


def test_many_moments_on_many_lanes() -> None:
    starts, lengths = np.array([0, 10, 0, 20], np.int64), np.array([100, 30, 50, 10], np.int64)
    threads = nest_by_lane(np.array([4, 4, 9, 4], np.int32), starts, lengths, np.array([7, 8, 9, 5]))
    lanes = np.array([4, 9, 4, 4, 4, 2, 9], np.int32)
    moments = np.array([25, 25, 35, 45, 150, 5, -5], np.int64)
    assert find_innermost(threads, lanes, moments).tolist() == [5, 9, 8, 7, -1, -1, -1]
    assert find_innermost(threads, lanes[:0], moments[:0]).tolist() == []


def test_operators_of_equal_start_nest_by_length() -> None:
    nesting = Nesting(np.array([0, 0], np.int64), np.array([10, 50], np.int64), [1, 2])
    assert nesting.innermost_at(np.array([5], np.int64)).tolist() == [1]
    assert (nesting.rows.tolist(), nesting.self_ns().tolist()) == ([2, 1], [40, 10])


def test_one_that_outlasts_its_parent_takes_no_more_than_the_parent_has() -> None:
    nesting = Nesting(np.array([0, 50], np.int64), np.array([100, 100], np.int64), [1, 2])
    assert (nesting.rows.tolist(), nesting.self_ns().tolist()) == ([1, 2], [50, 100])


SPAN = st.tuples(st.integers(0, 30), st.integers(0, 12))


@given(st.lists(SPAN, max_size=12))
def test_parents_are_those_of_a_walk_with_a_stack(spans: list[tuple[int, int]]) -> None:
    spans = sorted(spans, key=lambda span: (span[0], -span[1]))
    start, end = (np.array([span[0] + side * span[1] for span in spans], np.int64) for side in (0, 1))
    walked, found = _parents_one_by_one(start, end).tolist(), _find_parents(start, end)
    outlasts = any(above >= 0 and end[at] > end[above] for at, above in enumerate(walked))
    assert outlasts == (found is None)
    if found is not None:
        assert found.tolist() == walked
