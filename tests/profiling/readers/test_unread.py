"""Whether what was read reaches far enough: a launch without its kernel is one that runs later, or one that the file
itself lacks; the stream's order tells which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ascend_workbook.profiling.readers.cutting import read_far_enough
from ascend_workbook.profiling.readers.values import LIMIT
from ascend_workbook.profiling.trace import Event, build_trace
from tests.profiling.conftest import US, step

#: Step 1 lasts from 100 to 200 us on the host; of the file what begins before 300 us was read.
PART = SimpleNamespace(first=1, last=1, begin_ns=100 * US, end_ns=260 * US, launched_ns=200 * US)
WINDOW = (-LIMIT, 300 * US)
STEPS = [step(4, 0, 100), step(5, 100, 100), step(6, 200, 100)]


def launch(at: int) -> Event:
    return Event("launch", "runtime", "t", at * US, US)


def kernel(at: int, **more: Any) -> Event:
    return Event("k", "compute", "d", at * US, 5 * US, **more)


def far_enough(events: list[Event], open_ones: int) -> bool:
    """`open_ones`: so many of the events, from the end, have a number whose other end was not read."""
    trace = build_trace([*STEPS, *events], source="", dialect="kineto")
    unread = np.arange(len(trace)) >= len(trace) - open_ones
    return read_far_enough(trace, unread, PART, WINDOW)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([kernel(160, launch_ns=150 * US), launch(190)], False, id="its-kernel-is-still-to-come"),
        pytest.param(
            [kernel(160, launch_ns=150 * US), kernel(250, launch_ns=195 * US), launch(190)],
            True,
            id="later-ones-have-come-so-it-has-none",
        ),
        pytest.param([kernel(160, launch_ns=150 * US), launch(210)], True, id="a-later-steps"),
    ],
)
def test_a_launch_without_its_kernel(events: list[Event], expected: bool) -> None:
    assert far_enough(events, 1) is expected


@pytest.mark.parametrize(("launched", "expected"), [(150, False), (205, True)])
def test_where_no_call_has_a_number_the_device_must_have_come_further(launched: int, expected: bool) -> None:
    operators = [Event("a", "host_op", "t", at * US, 2 * US) for at in (150, launched)]
    ran = [kernel(160, launched_by=3), kernel(250, launched_by=4)]
    assert far_enough([*operators, *ran], 0) is expected
