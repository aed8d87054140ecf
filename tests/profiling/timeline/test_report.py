"""The timeline of a report: every event and its launcher, what is merged where there is too much, and its size."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.page.reports import find_on_timeline
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.timeline.report import report_timeline
from ascend_workbook.profiling.trace import Event, build_trace
from ascend_workbook.show.timeline_picture import read_boxes
from tests.profiling.conftest import DATA, WITH_DEVICE, step


def numbers(text: str) -> list[int]:
    return [int(one) for one in text.split()]


def side_of(report: Report) -> dict[str, Any]:
    side: dict[str, Any] = report.facts["timeline"]["sides"][0]
    return side


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_every_event_is_there_and_its_times_are_kept(name: str) -> None:
    profile = load_profile(DATA / name)
    report = report_timeline(profile, step=51)
    trace, boxes, side = profile.trace, read_boxes(report.facts["timeline"], inside=False), side_of(report)
    assert report.facts["timeline"]["merged"] == 0 and side["events"] == len(trace)
    first = int(trace.start_ns.min())
    assert report.facts["timeline"]["window"][0] == profile.breakdown.steps[1].start_ns - first
    assert sorted(begin + first for begin in read_whole(side)) == sorted(trace.start_ns.tolist())
    names = sorted(side["names"][at] for at in numbers(side["boxes"]["name"]))
    assert names == sorted(" ".join(trace.names[at].split()) for at in trace.name.tolist())
    assert len(boxes.lane) == len(trace)


def read_whole(side: dict[str, Any]) -> list[int]:
    """Return the begins after the window's."""
    window = {"sides": [side], "window": [0, side["length_ns"] + 1]}
    return read_boxes(window, inside=False).begin


def test_arrows_lead_to_the_operator_that_launched() -> None:
    side = side_of(report_timeline(load_profile(DATA / "cuda.pt.trace.json"), step=51))
    name, by = numbers(side["boxes"]["name"]), numbers(side["boxes"]["by"])
    told = {(side["names"][name[at]], side["names"][name[at + to]]) for at, to in enumerate(by) if to}
    assert ("conv_kernel", "aten::convolution") in told


def test_a_step_that_is_not_there() -> None:
    with pytest.raises(WorkbookError, match="no step 7"):
        report_timeline(load_profile(DATA / "cuda.pt.trace.json"), step=7)


@pytest.fixture
def crowded(profile_of: Callable[..., Profile]) -> Profile:
    """A step with 900 kernels of 1 us and one of 60 us."""
    kernels = [("compute", "small", at, 1) for at in range(900)] + [("compute", "large", 930, 60)]
    return profile_of(kernels, steps=1)


def test_merging_is_told_and_the_totals_are_those_of_all(crowded: Profile) -> None:
    report = report_timeline(crowded, most=50)
    assert "900 of them" in report.verdict("en") and "合并" in report.verdict("zh")
    assert report.table and sum(int(str(one)) for one in report.table.column_values("lane_events")) == 902
    side = side_of(report)
    assert sum(numbers(side["boxes"]["count"])) == 902
    assert ["small", 900, 900_000.0] in side["totals"]


def test_of_a_large_profile_the_step_is_shown_whole(profile_of: Callable[..., Profile]) -> None:
    profile = profile_of([("compute", "k", at, 1) for at in range(100)], steps=4)
    report = report_timeline(profile, step=2, most=150)
    assert report.facts["timeline"]["merged"] == 0
    assert "step 2" in report.verdict("en") and "404" in report.verdict("en")
    assert 101 <= side_of(report)["events"] <= 102  # and the mark of a step that it touches


@pytest.mark.parametrize(
    ("args", "find"),
    [
        ({"where": ["src/train.py:41", "b.py:3"], "operator": "aten::item"}, "train.py(41)"),
        ({"where": "train.py:41"}, "train.py(41)"),
        ({"where": None, "operator": "aten::item"}, "aten::item"),
        ({"share": 3}, ""),
    ],
)
def test_a_finding_leads_to_its_place_on_the_timeline(args: dict[str, Any], find: str) -> None:
    assert find_on_timeline(Finding("PRF314", Status.NOTE, "PRF314.read", args)) == find
    assert find_on_timeline(Finding("MIG126", Status.NOTE, "MIG126.x", args)) == ""


def test_a_page_stays_small_whatever_is_in_the_profile() -> None:
    """Many events, each with long texts of its own, on many threads."""
    events = [step(number, 1000 * number, 1000) for number in range(3)]
    events += [
        Event(f"{at} {'很长的名称' * 60}", "host_op", f"thread {at % 300}", at * 10, 9, shape=f"{at} {'[8,3]' * 80}")
        for at in range(60_000)
    ]
    profile = Profile.from_trace(build_trace(events, source="made", dialect="kineto"))
    report = report_timeline(profile, step=0)
    assert report.facts["timeline"]["merged"] == 0
    assert len(report.html("zh").encode()) < 5_000_000
    one_of_many = json.dumps(report_timeline(profile, step=0, most=500).facts, ensure_ascii=False)
    assert report_timeline(profile, step=0, most=500).facts["timeline"]["merged"] > 0
    assert len(one_of_many.encode()) < 250_000  # eight of them and their pictures fit
