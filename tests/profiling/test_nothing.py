"""A profile in which nothing, or nothing of the device, was recorded is not looked at, and never good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.profiling import analyse

HOSTS = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "Python"}}
CARDS = {"deviceProperties": [{"id": 0, "name": "A100"}]}


def event(name: str = "aten::add", category: str = "cpu_op", start: float = 100, took: float = 50) -> dict[str, Any]:
    return {"ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": took, "name": name, "cat": category}


def step(number: int, start: float = 0, took: float = 1000) -> dict[str, Any]:
    return event(f"ProfilerStep#{number}", "user_annotation", start, took)


def analysed(folder: Path, content: object) -> Any:
    path = folder / "a.pt.trace.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return analyse(path)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ({"traceEvents": []}, "no_events"),
        ([], "no_events"),
        ({"traceEvents": [HOSTS]}, "no_events"),
        ({"traceEvents": [event(took=0)]}, "no_steps"),
        ({"traceEvents": [step(1, 0, 0), step(2, 0, 0), event(start=0, took=0)]}, "no_steps"),
    ],
)
def test_a_profile_without_any_time_is_an_error(tmp_path: Path, content: object, key: str) -> None:
    with pytest.raises(WorkbookError) as caught:
        analysed(tmp_path, content)
    assert caught.value.key == f"profiling.{key}"


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ({"traceEvents": [step(1)]}, "nothing"),
        ({"traceEvents": [step(number, 1000 * number) for number in range(4)]}, "nothing"),
        ({"traceEvents": [event("a.py(1): f", "python_function")]}, "nothing"),
        ({"traceEvents": [step(1), event("cudaLaunchKernel", "cuda_runtime")]}, "nothing"),
        ({"traceEvents": [step(1, 0, 50), event(start=5000)]}, "nothing"),
        ({"traceEvents": [step(1), event(), event("cudaLaunchKernel", "cuda_runtime")]}, "blind"),
        ({**CARDS, "traceEvents": [step(1), event()]}, "blind"),
        ([HOSTS, step(1), event()], "blind"),
    ],
    ids=["a mark", "marks", "Python", "calls", "work outside", "launches alone", "cards", "an NPU's host"],
)
def test_a_profile_of_nothing_or_without_its_device_is_not_looked_at(tmp_path: Path, content: Any, key: str) -> None:
    report = analysed(tmp_path, content)
    verdicts = [one for part in report.parts for one in part.findings if one.rule == "PRF310"]
    assert [one.key for one in verdicts[:1]] == [f"PRF310.{key}"] and report.status is Status.NOT_LOOKED
    assert not report.answers
    told = {one.rule: one.status for part in report.parts for one in part.findings}
    assert told["PRF311"] is told["PRF331"] is told["PRF313"] is Status.NOT_LOOKED


def test_a_device_that_is_not_known_here_is_told(tmp_path: Path) -> None:
    report = analysed(tmp_path, {"traceEvents": [step(1), event(), event("k", "hpu_op")]})
    (told,) = [one for part in report.parts for one in part.findings if one.key == "PRF304.foreign_device"]
    assert (told.status, told.args["count"], report.tier) == (Status.LOOK, 1, "")
    assert not report.answers


def test_a_cpus_own_profile_is_one(tmp_path: Path) -> None:
    report = analysed(tmp_path, {"traceEvents": [step(1), event()]})
    assert report.tier == "cpu" and report.answers
