"""A step laid out anew: nothing changes where nothing is taken away, and else what is counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.profiling.breakdown import break_down
from ascend_workbook.profiling.causes.replay import Layout, lay_out, record_step
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.intervals import EMPTY, Intervals
from tests.profiling.causes.test_engine import BETWEEN, Host, launched
from tests.profiling.conftest import US


def removed(*spans: tuple[int, int]) -> Intervals:
    start, end = np.array(spans, np.int64).reshape(-1, 2).T * US
    return Intervals.union_of(start, end)


def laid_out(kernels: list[tuple[int, int, int]], host: list[Host], *spans: tuple[int, int]) -> Layout:
    profile = Profile.from_trace(launched(kernels, host), {"tier": "cuda"})
    recorded = record_step(profile.trace, profile.breakdown.steady[0], profile.waiting)
    assert recorded is not None
    return lay_out(recorded, removed(*spans))


def test_the_host_is_early_by_what_is_taken_away() -> None:
    """60 ms before the second kernel: without 50 of them the step of 100 takes 50; without all it waits for the first
    kernel alone."""
    assert laid_out(BETWEEN, []).step_ns == 100_000 * US
    assert laid_out(BETWEEN, [], (15_000, 65_000)).step_ns == 50_000 * US
    near = laid_out(BETWEEN, [], (0, 70_000)).step_ns
    assert near == pytest.approx(40_005 * US, abs=10 * US)


def test_what_the_device_hides_saves_nothing() -> None:
    """The host's 5 ms lie under a kernel, the next was launched long before it began."""
    hidden = [(0, 10, 50_000), (6_000, 50_010, 49_990)]
    assert laid_out(hidden, [], (500, 5_500)).step_ns == 100_000 * US


def test_a_wait_ends_with_its_kernel() -> None:
    """The host waits for the first kernel: without what it did before, it waits the longer, and nothing is saved."""
    host: list[Host] = [("runtime", "cudaStreamSynchronize", 40_000, 20_020)]
    kernels = [(0, 10, 60_000), (60_100, 60_110, 39_890)]
    assert laid_out(kernels, host, (10_000, 30_000)).step_ns == 100_000 * US
    assert laid_out(kernels, host, (60_030, 60_080)).step_ns == 99_950 * US
    assert laid_out(kernels, host, (40_000, 60_020)).step_ns == pytest.approx(99_900 * US, abs=20 * US)


KERNELS = st.lists(st.tuples(st.integers(0, 900), st.integers(0, 90), st.integers(1, 90)), min_size=1, max_size=12)
SPANS = st.lists(st.tuples(st.integers(0, 900), st.integers(1, 90)), max_size=6)


@settings(max_examples=120, deadline=None)
@given(KERNELS, SPANS, SPANS)
def test_nothing_taken_away_changes_nothing_and_more_saves_no_less(
    kernels: list[tuple[int, int, int]], waits: list[tuple[int, int]], taken: list[tuple[int, int]]
) -> None:
    in_order, free = [], 0
    for launch, late, lasts in sorted(kernels):
        start = max(launch + late, free)
        in_order.append((launch, start, lasts))
        free = start + lasts
    host: list[Host] = [("runtime", "cudaStreamSynchronize", start, lasts) for start, lasts in waits]
    trace = launched(in_order, host, length=3000)
    profile = Profile.from_trace(trace, {"tier": "cuda"})
    whole = break_down(trace).steady[0]
    recorded = record_step(trace, whole, profile.waiting)
    assert recorded is not None and lay_out(recorded, EMPTY).step_ns == whole.total_ns
    without = lay_out(recorded, removed(*((start, start + lasts) for start, lasts in taken)))
    assert 0 <= without.step_ns <= whole.total_ns
    assert without.device_ns + without.host_ns == without.step_ns
