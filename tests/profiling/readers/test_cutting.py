"""What is said of some steps is what a reading of the whole file says of the same steps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.profiling import rules
from ascend_workbook.profiling.breakdown import break_down
from ascend_workbook.profiling.device.idle import idle_by_cause, summarise_launches
from ascend_workbook.profiling.exposed import measure_exposed
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.operators import rank_operators
from ascend_workbook.profiling.ranks.reading import facts_of
from ascend_workbook.profiling.readers import choice, cutting, locate_profile, read_trace
from ascend_workbook.profiling.trace import Trace
from tests.profiling.readers.running_behind import Script
from tests.profiling.readers.test_choice import events

#: Of how many events and steps there are they speak themselves
OF_WHAT_WAS_READ = ("PRF301", "PRF302", "PRF304")
CASES: list[dict[str, Any]] = [
    {"seed": 11, "slow": 0.7, "synced": 3},
    {"seed": 12, "slow": 1.5, "npu": True},
    {"seed": 24, "slow": 3.0, "synced": 50, "apart": False, "halves": True},
    {"seed": 29, "slow": 3.0, "synced": 7, "npu": True, "halves": True},
    {"seed": 17, "slow": 6.0, "synced": 50, "apart": False, "npu": True},
    {"seed": 32, "slow": 6.0, "synced": 7},
]
SPANS = ((3, 5), (8, 8), (10, 15), (22, 23), (24, 26))


def same(whole: Trace, some: Trace, first: int, last: int) -> None:
    """Holds what the steps say against the same steps of the whole."""
    mine = Profile.from_trace(some)
    everything = Profile.from_trace(whole)
    steady = mine.breakdown.steady
    assert some.looked is not None and not some.looked.behind
    want = tuple(one for one in break_down(whole).steps if first <= one.number <= last)
    assert mine.breakdown.steps == want
    found, wanted = (
        [replace(one, row=0) for one in rank_operators(trace, [step.number for step in steady])]
        for trace in (some, whole)
    )
    assert found == wanted
    assert mine.idle == idle_by_cause(whole, steady, everything.waiting)
    assert mine.launches == summarise_launches(whole, steady)
    told, there = mine.exposed, measure_exposed(whole, steady)
    for name in ("transmission_ns", "waiting_ns", "untold_ns", "peer"):
        assert getattr(told, name) == getattr(there, name)
    assert advice(mine) == advice(Profile.from_trace(limited(whole, some)))


def limited(whole: Trace, some: Trace) -> Trace:
    """All events of the whole, of which only those of the chosen steps have a step."""
    numbers = [one.number for one in some.steps]
    first = [one.number for one in whole.steps].index(numbers[0])
    inside = (whole.step >= first) & (whole.step < first + len(numbers))
    step = np.where(inside, whole.step - first, -1).astype(np.int32)
    return replace(whole, steps=whole.steps[first : first + len(numbers)], step=step, looked=some.looked)


def advice(profile: Profile) -> list[Any]:
    found = judge_facts(profile, rules_of(rules))
    return [(one.rule, one.status, one.key, one.args) for one in found if one.rule not in OF_WHAT_WAS_READ]


@pytest.mark.parametrize("case", CASES)
def test_some_steps_say_what_the_whole_file_says_of_them(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(Script(**case).content()))
    whole = read_trace(path)
    for first, last in SPANS:
        same(whole, read_trace(path, f"{first}-{last}"), first, last)
    monkeypatch.setattr(choice, "WHOLE", 1)
    for first, last in SPANS:
        same(whole, read_trace(path, f"{first}-{last}"), first, last)


def test_a_file_is_read_once_where_the_device_is_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    window = choice.Choice.file_window
    monkeypatch.setattr(
        choice.Choice, "file_window", lambda mine, around: counted.append(around) or window(mine, around)
    )
    monkeypatch.setattr(choice, "WHOLE", 1)
    for at, slow in enumerate((0.7, 6.0)):
        path = tmp_path / "trace.json"
        path.write_text(json.dumps(Script(11 + at, slow=slow, synced=50, npu=at > 0).content()))
        read_trace(path, "12-15")
        assert len(counted) == 1 + at
        counted.clear()


def test_first_steps_whose_kernels_run_long_after_are_read_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of their kernels is in what is read first, and none of an earlier step's is in their time."""
    path = tmp_path / "trace.json"
    for npu in (False, True):
        found = list(events(40, lag_us=12_300, npu=npu))
        path.write_text(json.dumps(found if npu else {"traceEvents": found}))
        monkeypatch.setattr(choice, "WHOLE", 2**29)
        whole = read_trace(path)
        monkeypatch.setattr(choice, "WHOLE", 1)
        same(whole, read_trace(path, "5-7"), 5, 7)


def test_a_launch_that_the_file_lacks_is_not_looked_for_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(11, slow=0.7)
    calls = [one for one in script.events if one.get("cat") == "cuda_runtime" and one["name"] == "launch"]
    for one in calls[::9]:
        script.events.remove(one)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(script.content()))
    whole = read_trace(path)
    monkeypatch.setattr(choice, "WHOLE", 1)
    monkeypatch.setattr(choice.Choice, "steps_further_around", property(lambda mine: pytest.fail("read twice")))
    for first, last in SPANS:
        same(whole, read_trace(path, f"{first}-{last}"), first, last)


@pytest.mark.parametrize("slow", [0.7, 6.0])
def test_without_calls_the_operators_tell_how_far_the_device_has_come(
    slow: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(32, slow=slow, synced=50)
    script.events = [one for one in script.events if one.get("cat") != "cuda_runtime"]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(script.content()))
    whole = read_trace(path)
    monkeypatch.setattr(choice, "WHOLE", 1)
    for first, last in SPANS[2:]:
        same(whole, read_trace(path, f"{first}-{last}"), first, last)


def test_kernels_that_the_steps_before_launched_keep_the_device_busy(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(Script(32, slow=6.0, synced=50).content()))
    trace = read_trace(path, "12-13")
    meanwhile = trace.where(("compute",)) & (trace.step < 0)
    (first, last) = Profile.from_trace(trace).breakdown.steps
    inside = meanwhile & (trace.start_ns < last.end_ns) & (trace.start_ns + trace.duration_ns > first.start_ns)
    assert inside.any() and first.start_ns > trace.steps[-1].end_ns  # the host had left them long before


def test_collectives_of_other_steps_are_none_of_the_ranks(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(Script(12, slow=1.5, npu=True).content()))
    trace = read_trace(path, "10-15")
    outside = trace.where(("communication",)) & (trace.step < 0)
    assert outside.any()
    calls = facts_of(Profile.from_trace(trace), path, 0).calls
    assert len(calls) == int((trace.where(("communication",)) & (trace.step >= 0)).sum()) > 0
    assert {*calls.step.tolist()} <= {*range(10, 16)}


@pytest.mark.parametrize(
    "name, spans",
    [
        ("gpu/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", ((0, 1), (3, 3))),
        ("gpu/kineto_resnet50/num_workers_0/worker0.1623143566756.pt.trace.json.gz", ((2, 3),)),
        ("npu/alexnet_910b_level1/rank0_ascend_pt", ((2, 2), (3, 4))),
    ],
)
def test_some_steps_of_a_real_trace(
    name: str, spans: tuple[tuple[int, int], ...], shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = locate_profile(shared / "data" / name)
    if path.is_dir():
        path = several(path, tmp_path)
    whole = read_trace(path)
    monkeypatch.setattr(choice, "WHOLE", 1)
    monkeypatch.setattr(cutting, "AROUND", 1)
    numbers = [one.number for one in whole.steps]
    for first, last in spans:
        same(whole, read_trace(path, f"{numbers[first]}-{numbers[last]}"), numbers[first], numbers[last])


def several(path: Path, tmp_path: Path) -> Path:
    """The only step of a real NPU profile, seven times."""
    from benchmarks.traces.folders import OUTPUT, folder

    size = (path / OUTPUT / "trace_view.json").stat().st_size
    folder(path, tmp_path / "several_ascend_pt", max(1, round(7 * size / 1e6)))
    return tmp_path / "several_ascend_pt" / OUTPUT / "trace_view.json"


def test_tables_of_all_steps_say_nothing_of_some(tmp_path: Path) -> None:
    """communication.json and communication_matrix.json number and sum up what all steps did."""
    output = tmp_path / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    script = Script(12, slow=1.5, npu=True)
    (output / "trace_view.json").write_text(json.dumps(script.content()))
    times = {"Start Timestamp(us)": 2000.0, "Elapse Time(ms)": 0.5, "Wait Time(ms)": 0.4}
    told = {"hcom_allReduce__719_9_1@8": {"Communication Time Info": times, "Communication Bandwidth Info": {}}}
    (output / "communication.json").write_text(json.dumps({"step3": {"collective": told, "p2p": {}}}))
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 5.0, "Transit Time(ms)": 2.0, "Bandwidth(GB/s)": 2.5}
    matrix = {"step3": {"collective": {"allreduce-total@8": {"0-1": link}}, "p2p": {}}}
    (output / "communication_matrix.json").write_text(json.dumps(matrix))
    folder = output.parent
    all_of_it, some = (facts_of(load_profile(folder, steps), folder, 0) for steps in ("all", "10-15"))
    assert all_of_it.calls.start_ns.tolist() == [2_000_000] and len(all_of_it.links) == 1
    assert some.links == () and len(some.calls) > 1 and 2_000_000 not in some.calls.start_ns.tolist()
    assert {*some.calls.step.tolist()} <= {*range(10, 16)}


def test_steps_whose_marks_are_others_than_were_found_are_not_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(Script(12).content()))
    found = choice.choose_steps(path, "10-15", whole=1)
    assert isinstance(found, choice.Choice)
    lacking = found._replace(marks=tuple(one for one in found.marks if one.number != 12), last=found.last - 1)
    monkeypatch.setattr(cutting, "choose_steps", lambda *_: lacking)
    with pytest.raises(WorkbookError) as caught:
        read_trace(path, "10-15")
    assert caught.value.key == "profiling.steps_not_told_apart"
