"""Lanes, levels, the step in detail, and what is merged where there is too much of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.timeline import (
    MERGED,
    arrange_lanes,
    compute_levels,
    make_overview,
    make_window,
    report_timeline,
    split_lanes,
)
from ascend_workbook.profiling.trace import Event, Trace, build_trace
from tests.profiling.conftest import DATA, WITH_DEVICE, step


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


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_the_step_is_whole_and_its_times_are_kept(name: str) -> None:
    profile = load_profile(DATA / name)
    report = report_timeline(profile, step=51)
    data, step = report.facts["timeline"], profile.breakdown.steps[1]
    boxes = data["boxes"]
    begins = np.cumsum(numbers(boxes["begin"]))
    first = profile.trace.start_ns < step.end_ns
    wanted = first & (profile.trace.start_ns + profile.trace.duration_ns > step.start_ns)
    assert len(begins) == int(wanted.sum()) and data["merged"] == 0
    starts = np.sort(np.maximum(profile.trace.start_ns[wanted], step.start_ns)) - step.start_ns
    assert begins.tolist() == starts.tolist()
    names = sorted(data["names"][at] for at in numbers(boxes["name"]))
    assert names == sorted(profile.trace.names[at] for at in profile.trace.name[wanted].tolist())


def test_arrows_lead_to_the_operator_that_launched() -> None:
    data = report_timeline(load_profile(DATA / "cuda.pt.trace.json"), step=51).facts["timeline"]
    name, by = numbers(data["boxes"]["name"]), numbers(data["boxes"]["by"])
    told = [(data["names"][name[at]], data["names"][name[to]]) for at, to in enumerate(by) if to >= 0]
    assert told[1:3] == [("conv_kernel", "aten::convolution")] * 2  # before them the copy of the step before


def test_a_step_that_is_not_there() -> None:
    with pytest.raises(WorkbookError, match="no step 7"):
        report_timeline(load_profile(DATA / "cuda.pt.trace.json"), step=7)


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


def test_merging_is_told(crowded: Trace) -> None:
    report = report_timeline(Profile.from_trace(crowded), most=50)
    assert "900 of them" in report.verdict("en") and "合并" in report.verdict("zh")
    assert report.table and sum(int(str(one)) for one in report.table.column_values("lane_events")) == 902


def test_the_overview_is_as_busy_as_the_lanes() -> None:
    trace = load_profile(DATA / "cuda.pt.trace.json").trace
    found = make_overview(trace, columns=700)
    assert [one.group for one in found.lanes] == ["host", "launch", "streams", "communication"]
    width = (found.end_ns - found.start_ns) / 700
    communication = trace.intervals_of(trace.where(("communication",))).length_ns
    assert found.busy[3].sum() * width == pytest.approx(communication, rel=0.01)
    assert found.busy.max() <= 1 + 1e-9


def test_a_page_stays_small_whatever_is_in_the_profile() -> None:
    """Many events, each with long texts of its own, on many threads."""
    events = [step(number, 1000 * number, 1000) for number in range(3)]
    events += [
        Event(f"{at} {'很长的名称' * 60}", "host_op", f"thread {at % 300}", at * 10, 9, shape=f"{at} {'[8,3]' * 80}")
        for at in range(60_000)
    ]
    profile = Profile.from_trace(build_trace(events, source="made", dialect="kineto"))
    report = report_timeline(profile, step=0)
    assert report.facts["timeline"]["merged"] > 0
    assert len(report.html("zh").encode()) < 5_000_000
    one_of_many = json.dumps(report_timeline(profile, step=0, most=500).facts, ensure_ascii=False)
    assert len(one_of_many.encode()) < 250_000  # eight of them and their pictures fit
