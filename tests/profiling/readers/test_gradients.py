"""Which operators of backward a timeline links to which of forward."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_workbook.profiling.readers.gradients import read_gradients, read_numbers
from ascend_workbook.profiling.trace import Event, Trace, build_trace

US = 1000


def written(path: Path, links: list[dict[str, object]]) -> Trace:
    rows = [("aten::mul", 100), ("aten::exp", 200), ("ExpBackward0", 300), ("MulBackward0", 400)]
    events = [Event("ProfilerStep#0", "step", "Python 7", 0, 1000 * US)]
    events += [Event(name, "host_op", "Python 7", at * US, 50 * US) for name, at in rows]
    path.write_text(json.dumps([{"ph": "X", "name": "aten::mul"}, *links]))
    return replace(build_trace(events, source="made", dialect="ascend"), source=str(path))


def link(phase: str, number: int, moment: str) -> dict[str, object]:
    return {"ph": phase, "bp": "e", "name": "fwdbwd", "id": number, "ts": moment, "cat": "fwdbwd"}


def test_ends_of_the_same_number_are_linked(tmp_path: Path) -> None:
    links = [link("s", 7, "100.000"), link("f", 7, "400.000"), link("s", 8, "200.000"), link("f", 8, "300")]
    trace = written(tmp_path / "trace_view.json", links)
    told = {tuple(trace.names[trace.name[row]] for row in pair) for pair in read_gradients(trace).tolist()}
    assert told == {("aten::mul", "MulBackward0"), ("aten::exp", "ExpBackward0")}


@pytest.mark.parametrize(
    "links",
    [
        [],
        [link("s", 7, "100.000"), link("f", 8, "400.000")],
        [link("s", 7, "100.001"), link("f", 7, "400.000")],
        [link("s", 7, "soon"), link("f", 7, "400.000")],
    ],
    ids=["none", "half", "elsewhere", "no moment"],
)
def test_what_is_not_linked_is_none(tmp_path: Path, links: list[dict[str, object]]) -> None:
    assert not read_gradients(written(tmp_path / "trace_view.json", links)).size


def test_a_file_that_is_gone_links_nothing(tmp_path: Path) -> None:
    trace = written(tmp_path / "trace_view.json", [])
    assert not read_gradients(replace(trace, source=str(tmp_path / "gone.json"))).size


def numbered(name: str, moment: str, number: int, of: int) -> dict[str, object]:
    told = {"Sequence number": number, "Fwd thread id": of, "Input Dims": "8,16"}
    return {"ph": "X", "name": name, "pid": 7, "tid": 7, "ts": moment, "dur": 50.0, "cat": "cpu_op", "args": told}


def test_operators_have_their_numbers_and_those_of_backward_that_of_their_operator(tmp_path: Path) -> None:
    rows = [numbered("aten::mul", "100.000", 7, 0), numbered("MulBackward0", "400.000", 7, 1)]
    rows += [numbered("aten::exp", "200.000", -1, 0), numbered("gone", "999.000", 3, 0)]
    trace = written(tmp_path / "trace_view.json", rows)
    told = read_numbers(trace)
    names = [trace.names[trace.name[row]] for row in told.rows.tolist()]
    assert list(zip(names, told.number.tolist(), told.of_backward.tolist())) == [
        ("aten::mul", 7, False),
        ("MulBackward0", 7, True),
    ]


def test_a_file_that_is_gone_or_tells_no_numbers_has_none(tmp_path: Path) -> None:
    trace = written(tmp_path / "trace_view.json", [])
    assert not read_numbers(trace).rows.size
    assert not read_numbers(replace(trace, source=str(tmp_path / "gone.json"))).rows.size
