"""Some steps of a trace: which are chosen, that reading only around them gives what reading all and cutting gives."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.ranks.reading import read_rank
from ascend_workbook.profiling.readers import choice, read_trace
from ascend_workbook.profiling.readers.choice import Choice, Mark, Whole, choose_steps
from ascend_workbook.profiling.trace import Trace
from tests.profiling.readers.running_behind import Script

STEP_US = 1000
#: How much longer than the others these steps take, microseconds
LONGER = {0: 5000, 7: 900, 30: 400}


def events(steps: int, lag_us: int = 300, npu: bool = False) -> Iterator[dict[str, Any]]:
    """A script in which each step launches three kernels, which run `lag_us` behind their launch."""
    process = {"ph": "M", "name": "process_name", "ts": 0, "tid": 0, "args": {}}
    if npu:
        for pid, name in ((1, "Python"), (2, "CANN"), (3, "Ascend Hardware")):
            yield {**process, "pid": pid, "args": {"name": name}}
    yield x("main", "python_function", 900, 10**7)
    now, number = 1000, 0
    for step in range(steps):
        took = STEP_US + LONGER.get(step, 0)
        yield x(f"ProfilerStep#{step + 5}", "user_annotation", now, took - 7)
        yield x(f"ProfilerStep#{step + 5}", "gpu_user_annotation", now + lag_us, took, tid=70)
        for at in range(3):
            number += 1
            begin = now + 100 + 250 * at
            arguments = {"External id": number, "correlation": number, "connection_id": number}
            arguments |= {"Input Dims": [[4, 1 + at]]}
            yield x(f"aten::op{at}", "cpu_op", begin, 60, args={**arguments, "note": f"ProfilerStep#{step}"})
            launch = {"name": f"launch{at}", "pid": 2 if npu else 1, "tid": 2 if npu else 1}
            yield {**x("", "cuda_runtime", begin + 20, 9, args=arguments), **launch}
            where = {"pid": 3, "tid": 7} if npu else {"pid": 0, "tid": 7}
            kernel = x(f"kernel{at}", "kernel", begin + lag_us, 120 + at, args={**arguments, "device": 0, "stream": 7})
            kernel["args"]["Task Type"] = "AI_CORE"
            yield {**kernel, **where}
            if npu:
                flow = {"cat": "async_npu", "name": "async_npu", "id": number}
                yield {**flow, "ph": "s", "pid": 1, "tid": 1, "ts": f"{begin + 30}.000"}
                yield {**flow, "ph": "f", "bp": "e", "pid": 3, "tid": 7, "ts": f"{begin + lag_us}.000"}
        now += took


def x(name: str, cat: str, ts: int, dur: int, tid: int = 1, args: dict[str, Any] | None = None) -> dict[str, Any]:
    times = {"ts": f"{ts}.000", "dur": dur}
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, **times, "args": args or {}}


def write(tmp_path: Path, steps: int = 40, packed: bool = False, npu: bool = False, **more: Any) -> Path:
    found = list(events(steps, npu=npu, **more))
    text = json.dumps(found if npu else {"baseTimeNanoseconds": 10**12, "traceEvents": found}).encode()
    path = tmp_path / ("trace.json.gz" if packed else "trace.json")
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def seen(trace: Trace) -> list[tuple[Any, ...]]:
    """All of a trace, in words and in order of time."""
    names = np.array(trace.names)[trace.name]
    launcher = [str(names[by]) if by >= 0 else "" for by in trace.launched_by]
    step = [trace.steps[at].number if at >= 0 else -1 for at in trace.step]
    rows = zip(
        names,
        trace.kind,
        np.array(trace.lanes)[trace.lane],
        trace.start_ns,
        trace.duration_ns,
        step,
        launcher,
        trace.launch_ns,
        np.array(trace.shapes)[trace.shape],
    )
    return sorted((str(name), int(kind), str(lane), *map(str, rest)) for name, kind, lane, *rest in rows)


@pytest.mark.parametrize("npu", [False, True])
@pytest.mark.parametrize("scanned", [True, False])
def test_what_is_read_around_steps_is_what_all_of_it_says_of_them(
    npu: bool, scanned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not scanned:
        monkeypatch.setattr("ascend_workbook.profiling.readers.loading._make_scanner", lambda: (None, "no compiler"))
    path = write(tmp_path, npu=npu)
    whole = read_trace(path, "20-25")
    monkeypatch.setattr(choice, "WHOLE", 1)
    around = read_trace(path, "20-25")
    assert [step.number for step in around.steps] == list(range(20, 26)) and around.leads_in
    assert seen(around) == seen(whole) and around.looked == whole.looked
    assert any(name == "main" for name, *_ in seen(around))  # what began before and reaches into them
    everything = Profile.from_trace(read_trace(path, "all"))
    some = Profile.from_trace(around)
    want = tuple(step for step in everything.breakdown.steps if 20 <= step.number <= 25)
    assert some.breakdown.steps == some.breakdown.steady == want
    assert {one.name: one.self_ns for one in some.operators if one.kind == "compute"} == {
        f"aten::op{at}": 6 * (120 + at) * 1000 for at in range(3)
    }


@pytest.mark.parametrize("packed", [False, True])
def test_of_a_large_trace_steps_like_the_mean_are_looked_at(packed: bool, tmp_path: Path) -> None:
    path = write(tmp_path, packed=packed)
    size = len(gzip.decompress(path.read_bytes())) if packed else path.stat().st_size
    found = choose_steps(path, "auto", whole=size // 2)
    assert isinstance(found, Choice) and found.last - found.first + 1 == int(40 * choice.PART * (size // 2) / size) - 4
    took = [STEP_US + LONGER.get(step, 0) for step in range(40)]
    mean = np.mean(took[1:39] + [took[39] - 7])
    count = found.last - found.first + 1
    means = {at: np.mean((took[:39] + [993])[at : at + count]) for at in range(1, 41 - count)}
    best = min(abs(one - mean) for one in means.values())
    assert abs(means[found.first] - mean) <= best + choice.ALIKE * mean
    looked = found.looked_steps
    assert looked.steps == 40 and looked.mean_ns == pytest.approx(1000 * mean)
    assert (looked.slowest, looked.slowest_ns) == (5, 6_000_000)  # the first, which is never among them


@pytest.mark.parametrize("first", [1, 5000])
def test_of_steps_that_are_alike_those_in_the_middle_are_chosen(first: int) -> None:
    marks = [Mark(at, 10**6 * at, 10**6 * (at + 1)) for at in range(1, 41)]
    marks[0] = Mark(0, -first, 10**6)  # which has no say
    assert abs(choice._choose_like_the_mean(marks, 10) + 5 - 20) <= 1


@pytest.mark.parametrize("steps", ["auto", "all"])
def test_a_small_trace_is_looked_at_whole(steps: str, tmp_path: Path) -> None:
    path = write(tmp_path)
    trace = read_trace(path, steps)
    assert len(trace.steps) == trace.recorded_steps == 40 and trace.looked is None and not trace.leads_in


def test_few_large_steps_are_looked_at_whole(tmp_path: Path) -> None:
    path = write(tmp_path, steps=8)
    assert choose_steps(path, "auto", whole=10) == Whole(path.stat().st_size, "few_steps")
    found = choose_steps(write(tmp_path, steps=9), "auto", whole=10)
    assert isinstance(found, Choice) and found.last - found.first + 1 == choice.FEWEST


@pytest.mark.parametrize("steps", ["3-6", "44-45", "6,8", "60", "4"])
def test_steps_that_are_no_span_of_the_file_are_refused(steps: str, tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match=r"trace\.json.*5-44") as caught:
        read_trace(write(tmp_path), steps)
    assert caught.value.key == "profiling.no_such_steps"


@pytest.mark.parametrize("steps", ["all of them", "6-5", "-1", ""])
def test_what_is_no_list_of_numbers_is_refused(steps: str, tmp_path: Path) -> None:
    with pytest.raises(WorkbookError):
        read_trace(write(tmp_path), steps)


def test_the_first_steps_have_none_that_leads_in(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path), "5-9")
    assert [one.number for one in trace.steps] == [5, 6, 7, 8, 9] and trace.looked is not None and not trace.leads_in
    assert [one.number for one in load_profile(tmp_path / "trace.json", "5-9").breakdown.steady] == [6, 7, 8, 9]


@pytest.mark.parametrize("piece", [257, 1024, 8192, 2**20])
def test_marks_are_found_wherever_the_file_is_cut_into_pieces(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "READ_SIZE", piece)
    monkeypatch.setattr(choice, "REACH", 600)
    marks, unclear, size = choice._read_marks(path := write(tmp_path))
    assert not unclear and [one.number for one in marks] == list(range(5, 45)) and size == path.stat().st_size
    assert [one.start_ns for one in marks][:2] == [1_000_000, 7_000_000]


@pytest.mark.parametrize(
    "event",
    [
        '{"ph": "X", "args": {"a": {"b": [1, "}{"]}}, "dur": "5.5", "ts": 3, "name":"ProfilerStep#9"}',
        '{ "name" : "ProfilerStep#9" , "dur":5.5 , "ts":"3.000", "ph":"X", "cat": null}',
    ],
)
def test_a_mark_is_an_event_in_whatever_form(event: str) -> None:
    text = f'[{{"name": "{{", "ph": "M"}}, {event}, {{}}]'.encode()
    assert list(choice._marks_of(text, 0, len(text))) == [(9, 3000, 8500)]


@pytest.mark.parametrize(
    "event",
    [
        '{"ph": "X", "name": "x", "args": {"name": "ProfilerStep#9"}, "ts": 1, "dur": 1}',
        '{"ph": "X", "name": "x", "args": {"ph": "X", "name": "ProfilerStep#9"}, "ts": 1, "dur": 1}',
        '{"ph": "i", "name": "ProfilerStep#9", "ts": 1}',
        '{"ph": "X", "name": "ProfilerStep#9", "ts": "soon", "dur": 1}',
        '{"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#9", "ts": 1, "dur": 1}',
        '{"ph": "E", "name": "ProfilerStep#9", "ts": 1}',
    ],
)
def test_what_only_looks_like_a_mark_is_none(event: str) -> None:
    text = f"[{event}, 1]".encode()
    assert list(choice._marks_of(text, 0, len(text))) == []


@pytest.mark.parametrize(
    "event",
    [
        '{"ph": "X", "name": "ProfilerStep#9", "ts": 1, "dur": 1',
        '{"ph": "B", "name": "ProfilerStep#9", "ts": 1}',
        '{"ph": "X", "args": {"a": "%s"}, "name": "ProfilerStep#9", "ts": 1, "dur": 1}' % ("-" * choice.REACH),
    ],
)
def test_a_mark_that_cannot_be_used_is_counted(event: str) -> None:
    text = f"[{event}, 1]".encode()
    assert list(choice._marks_of(text, 0, len(text))) == [None]


def with_halves(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    mark = {"ph": "B", "name": "ProfilerStep#900", "pid": 1, "tid": 1, "ts": "90000.0"}
    return [*found, mark, {**mark, "ph": "E", "ts": "90100.0"}]


@pytest.mark.parametrize(
    "why, change",
    [
        ("same_numbers", lambda found: [*found, x("ProfilerStep#7", "user_annotation", 90_000, 50)]),
        ("no_marks", lambda found: [one for one in found if not one["name"].startswith("ProfilerStep")]),
        ("unclear_marks", with_halves),
        ("few_steps", lambda found: [one for one in found if float(one["ts"]) < 12_000]),
    ],
)
def test_a_large_file_that_is_read_whole_says_why_and_what_memory_that_takes(
    why: str, change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": change(list(events(20)))}))
    monkeypatch.setattr(choice, "WHOLE", 10)
    assert choose_steps(path, "auto") == Whole(path.stat().st_size, why)
    report = analyse(path, steps="auto")
    told = [one for part in report.parts for one in part.findings if one.key == f"PRF302.{why}"]
    assert told and "MiB of memory" in told[0].message("en") and read_trace(path, "auto").looked is None


@pytest.mark.parametrize("steps", ["9-10", "9-11", "12"])
def test_steps_that_are_missing_in_between_are_not_told_as_there(steps: str, tmp_path: Path) -> None:
    found = [one for one in events(20) if one["name"] not in ("ProfilerStep#10", "ProfilerStep#11", "ProfilerStep#12")]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": found}))
    with pytest.raises(WorkbookError, match="5-9, 13-24"):
        read_trace(tmp_path / "trace.json", steps)
    assert [one.number for one in read_trace(tmp_path / "trace.json", "9,13").steps] == [9, 13]


def test_steps_of_a_profile_without_marks_cannot_be_asked_for(tmp_path: Path) -> None:
    found = [one for one in events(20) if not one["name"].startswith("ProfilerStep")]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": found}))
    with pytest.raises(WorkbookError) as caught:
        read_trace(tmp_path / "trace.json", "7")
    assert caught.value.key == "profiling.steps_without_marks"


def test_the_report_says_which_steps_it_looked_at_and_how_to_see_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path)
    monkeypatch.setattr(choice, "WHOLE", 30_000)
    report = analyse(path, steps="auto")
    parts = {part.verb: part for part in report.parts}
    (told,) = [one for part in report.parts for one in part.findings if one.rule == "PRF302"]
    assert told.status.name == "NOTE" and "--steps 5" in (told.hint("en") or "") and "of 40" in told.message("en")
    facts = parts["time_by_kind"].facts
    assert len(facts["steps"]) == told.args["last"] - told.args["first"] + 1 < 40 == facts["recorded_steps"]


def test_all_ranks_are_looked_at_in_the_same_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank, steps in enumerate((40, 44)):
        found = {"traceEvents": list(events(steps)), "distributedInfo": {"rank": rank}}
        (tmp_path / f"rank{rank}.trace.json").write_text(json.dumps(found))
    monkeypatch.setattr(choice, "WHOLE", 30_000)
    (tmp_path / "rank2.trace.json.gz").write_bytes(b"\x1f\x8bbroken" * 90_000)  # the largest, and no gzip
    found = choose_steps(tmp_path / "rank1.trace.json", "auto")
    assert isinstance(found, Choice) and found != choose_steps(tmp_path / "rank0.trace.json", "auto")
    looked = found.looked_steps
    told = [part.facts["steps"] for part in everywhere(analyse(tmp_path, steps="auto")) if part.verb == "time_by_kind"]
    assert told == 2 * [list(range(looked.first, looked.last + 1))]


def test_a_rank_that_has_other_steps_chooses_its_own_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank, numbered in enumerate(("ProfilerStep#", "ProfilerStep#3", "other#")):
        found = [{**one, "name": one["name"].replace("ProfilerStep#", numbered)} for one in events(40 - rank)]
        content = {"traceEvents": found, "distributedInfo": {"rank": rank}}
        (tmp_path / f"rank{rank}.trace.json").write_text(json.dumps(content))
    monkeypatch.setattr(choice, "WHOLE", 30_000)
    report = analyse(tmp_path, steps="auto")
    told = [one for part in everywhere(report) for one in part.findings if one.key.startswith("PRF302.others")]
    assert sorted({one.key for one in told}) == ["PRF302.others", "PRF302.others_unmarked"]
    assert all(one.status is Status.LOOK for one in told)
    (first,) = {str(one.args["here"]) for one in told if one.key == "PRF302.others"}
    assert first.startswith("35-39")
    with pytest.raises(WorkbookError):
        read_rank(tmp_path / "rank1.trace.json", 1, "10-12")  # asked for by the user


def everywhere(report: Report) -> Iterator[Report]:
    yield report
    for part in report.parts:
        yield from everywhere(part)


def test_a_device_far_behind_the_host_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "WHOLE", 1)
    looked = [read_trace(write(tmp_path, lag_us=lag), "20-29").looked for lag in (300, 1500, 3300, 12300)]
    assert not any(one is None or one.behind for one in looked)  # read once more, further around
    monkeypatch.setattr(choice, "MORE", 1)  # which is not enough then
    near, *others = (read_trace(write(tmp_path, lag_us=lag), "20-29").looked for lag in (3300, 7300, 12300, 30300))
    assert near is not None and not near.behind
    assert all(far is not None and far.behind for far in others)


def test_steps_of_which_nothing_was_read_say_that_the_device_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "WHOLE", 1)
    monkeypatch.setattr(choice, "MORE", 1)
    script = Script(17, npu=True, slow=6.0, synced=50, apart=False)
    (tmp_path / "trace.json").write_text(json.dumps(script.content()))
    with pytest.raises(WorkbookError) as caught:
        load_profile(tmp_path / "trace.json", "8")
    assert caught.value.key == "profiling.too_far_behind"


def test_all_fields_of_a_trace_are_cut(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path), "20-25")
    columns = [one.name for one in fields(Trace) if isinstance(getattr(trace, one.name), np.ndarray)]
    assert {getattr(trace, name).size for name in columns} == {len(trace)}
