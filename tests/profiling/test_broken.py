"""Profiles that are broken: one clear error that names the file, or one finding, each; and what is whole is read."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.readers import read_trace
from tests.profiling.conftest import DATA

CUDA = (DATA / "cuda.pt.trace.json").read_bytes()
Spoil = Callable[[Path], Path]


def told(report: Report, key: str) -> list[Status]:
    return [one.status for part in report.parts for one in part.findings if one.key == key]


def put(folder: Path, content: bytes, name: str = "a.pt.trace.json") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def database(folder: Path, script: str, keep: float = 1) -> Path:
    path = folder / "x_ascend_pt" / "ascend_pytorch_profiler_0.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
        made.commit()
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    return path.parent


def tables(folder: Path, name: str, content: str) -> Path:
    (folder / "x_ascend_pt").mkdir()
    return put(folder / "x_ascend_pt", content.encode("utf-8", "surrogateescape"), name).parent


def folder_called(folder: Path, name: str) -> Path:
    (folder / name).mkdir(parents=True)
    return folder / name


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "a.pt.trace.json")
    return folder / "a.pt.trace.json"


def twice(folder: Path) -> Path:
    for host in ("a", "b"):
        put(folder_called(folder, host), CUDA, "rank0.pt.trace.json")
        shutil.move(folder / host / "rank0.pt.trace.json", folder / f"{host}_rank0.pt.trace.json")
    return folder


BOMB = gzip.compress(b'[{"ph": "X", "name": "' + b"a" * 80_000_000, 1)
STRINGS = "CREATE TABLE STRING_IDS (id INTEGER, value TEXT);"
HEADINGS = "Name,Start Time(us),Duration(us)\n"
ERRORS: dict[str, tuple[Spoil, str]] = {
    "an empty file": (lambda at: put(at, b""), "cut_short"),
    "an empty gzip": (lambda at: put(at, b"", "a.trace.json.gz"), "cut_short"),
    "cut before any event": (lambda at: put(at, CUDA[:20]), "cut_short"),
    "a gzip that is none": (lambda at: put(at, CUDA, "a.trace.json.gz"), "damaged_gzip"),
    "a gzip that unpacks to far more": (lambda at: put(at, BOMB, "a.trace.json.gz"), "cut_short"),
    "an empty folder": (lambda at: at, "no_profile"),
    "no such path": (lambda at: at / "gone", "no_such_path"),
    "a folder instead of a file": (lambda at: folder_called(at, "a.pt.trace.json"), "no_profile"),
    "a folder for a timeline": (lambda at: folder_called(at, "x_ascend_pt/trace_view.json").parent, "not_parsed"),
    "a pipe": (pipe, "no_profile"),
    "arguments nested without end": (lambda at: put(at, b'[{"args":' * 99_999 + b"1" + b"}]" * 99_999), "no_events"),
    "JSON that is no trace": (lambda at: put(at, b'{"losses": [1, 2]}'), "not_a_trace"),
    "no step has any time": (lambda at: put(at, _one(dur=0)), "no_steps"),
    "a missing column": (lambda at: tables(at, "kernel_details.csv", "Name,Start Time(us)\na,1\n"), "no_column"),
    "a table's NaN": (lambda at: tables(at, "kernel_details.csv", HEADINGS + "a,1,NaN\n"), "bad_cell"),
    "a database cut short": (lambda at: database(at, STRINGS + "CREATE TABLE TASK (a);", 0.6), "unreadable"),
    "a database without tables": (lambda at: database(at, "CREATE TABLE OTHER (a);"), "no_events"),
    "a database that lacks columns": (lambda at: database(at, STRINGS + "CREATE TABLE TASK (a);"), "unreadable"),
    "a database of something else": (lambda at: tables(at, "ascend_pytorch_profiler_0.db", "text"), "unreadable"),
    "one rank twice": (twice, "many_profiles"),
}


def _one(**changed: Any) -> bytes:
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 5, "dur": 2, **changed}
    return json.dumps({"traceEvents": [event]}).encode()


@pytest.mark.parametrize("case", ERRORS)
def test_one_clear_error(tmp_path: Path, case: str) -> None:
    spoil, key = ERRORS[case]
    path = spoil(tmp_path)
    with pytest.raises(WorkbookError) as caught:
        analyse(path)
    assert caught.value.key == f"profiling.{key}"
    assert str(tmp_path) in caught.value.message("zh")
    assert caught.value.hint("en") and caught.value.hint("zh")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *args: object, **more: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    path = put(tmp_path, CUDA)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(WorkbookError, match="Permission denied") as caught:
        analyse(path)
    assert caught.value.key == "profiling.unreadable"


def events(change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """The CUDA trace with its events changed."""
    trace = json.loads(CUDA)
    change([one for one in trace["traceEvents"] if one.get("ph") == "X"])
    return json.dumps(trace).encode()


def kernels(**changed: object) -> Callable[[list[dict[str, Any]]], object]:
    """A change of the first kernel."""
    return lambda found: next(one for one in found if one["cat"] == "kernel").update(changed)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (CUDA[: len(CUDA) * 3 // 4], "PRF304.cut_short"),
        (CUDA.replace(b"aten::item", b"aten::\xff\xfe"), "PRF304.replaced_bytes"),
        (CUDA.rstrip() + b"}", "PRF304.damaged"),
        (CUDA.replace(b'"ph": "X"', b'"ph" "X"').replace(b'"ph" "X"', b'"ph": "X"', 20), "PRF304.broken_events"),
        (CUDA.replace(b"aten::item", b"aten::\0"), "PRF304.control_characters"),
        (CUDA.replace(b"aten::item", b"a" * 5000), "PRF304.long_texts"),
        (CUDA.replace(b'"traceEvents": [', b'"traceEvents": [{"a": "' + b"b" * 2**25 + b'"}, '), "PRF304.too_long"),
        (
            CUDA.replace(b'"traceEvents": [', b'"traceEvents": [' + b"[" * 99_999 + b"]" * 99_999 + b", "),
            "PRF304.too_deep",
        ),
        (CUDA.replace(b'"traceEvents": [', b'"traceEvents": [], "traceEvents": ['), "PRF304.more_lists"),
        (events(kernels(dur=-1)), "PRF304.negative_duration"),
        (events(kernels(dur=float("nan"))), "PRF304.no_time"),
        (events(kernels(ts=float("inf"))), "PRF304.no_time"),
        (events(kernels(ts=10**40)), "PRF304.time_out_of_range"),
        (events(kernels(dur=1e300)), "PRF304.time_out_of_range"),
        (events(kernels(ts=[{"a": [1]}])), "PRF304.no_time"),
    ],
)
def test_one_finding_and_the_rest_is_read(tmp_path: Path, content: bytes, key: str) -> None:
    report = analyse(put(tmp_path, content))
    assert told(report, key) == [Status.LOOK]
    assert told(report, "PRF304.all") == []
    assert ("cut short" in report.verdict("en")) is (key == "PRF304.cut_short")
    assert ("is damaged" in report.verdict("en")) is (key == "PRF304.damaged")


def test_a_gzip_cut_short_is_a_finding_too(tmp_path: Path) -> None:
    packed = gzip.compress(CUDA)
    report = analyse(put(tmp_path, packed[: len(packed) * 9 // 10], "a.trace.json.gz"))
    assert told(report, "PRF304.cut_short") == [Status.LOOK]


def test_a_trace_cut_before_its_kernels_is_no_cpus(tmp_path: Path) -> None:
    cards = CUDA.replace(b'"deviceProperties": []', b'"deviceProperties": [{"id": 0, "name": "A100"}]')
    assert cards != CUDA
    report = analyse(put(tmp_path, cards[: cards.index(b'"kernel"')]))
    assert (report.tier, report.status) == ("", Status.LOOK)
    assert report.verdict("en").startswith("the file was cut short after ")
    assert "no device times" in report.verdict("en")


WHOLE = read_trace(DATA / "cuda.pt.trace.json")


def every(**of: Callable[[Any], Any]) -> Callable[[list[dict[str, Any]]], object]:
    def change(found: list[dict[str, Any]]) -> None:
        for at, one in enumerate(found):
            one.update({key: make((at, one)) for key, make in of.items()})

    return change


@pytest.mark.parametrize(
    "change",
    [
        every(ts=lambda e: [str(e[1]["ts"]), float(e[1]["ts"]), e[1]["ts"]][e[0] % 3]),
        every(dur=lambda e: [str(e[1]["dur"]), float(e[1]["dur"]), e[1]["dur"]][e[0] % 3]),
        every(args=lambda e: {**e[1].get("args", {}), "x": {"y": [[{}], None, "}, {", 1e308]}, "Input type": {"a": 3}}),
        every(tid=lambda e: str(e[1]["tid"])),
        every(pid=lambda e: float(e[1]["pid"]) if str(e[1]["pid"]).isdigit() else e[1]["pid"]),
    ],
    ids=["ts in three forms", "dur in three forms", "garbage in args", "tid as text", "pid as float"],
)
def test_odd_forms_say_the_same(tmp_path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    found = read_trace(put(tmp_path, events(change)))
    assert found.start_ns.tolist() == WHOLE.start_ns.tolist()
    assert found.duration_ns.tolist() == WHOLE.duration_ns.tolist()
    assert found.launched_by.tolist() == WHOLE.launched_by.tolist()


def test_events_without_name(tmp_path: Path) -> None:
    found = read_trace(
        put(tmp_path, events(lambda found: [one.pop("name") for one in found if one["cat"] == "kernel"]))
    )
    assert "" in found.names
    assert found.count_events("compute") + found.count_events("communication") == 9


def test_one_correlation_for_all_is_laid_to_one_call_and_never_outside(tmp_path: Path) -> None:
    def change(found: list[dict[str, Any]]) -> None:
        for one in found:
            one.get("args", {}).pop("External id", None)
            one.get("args", {}).update({"correlation": 7} if "correlation" in one.get("args", {}) else {})

    found = read_trace(put(tmp_path, events(change)))
    assert -1 <= found.launched_by.min() <= found.launched_by.max() < len(found)
    assert len(set(found.launched_by[found.where(("compute",))].tolist())) == 1


def test_a_clock_that_went_backwards_is_said(tmp_path: Path) -> None:
    def change(found: list[dict[str, Any]]) -> None:
        first, second, _ = (one for one in found if one["name"].startswith("ProfilerStep#"))
        first["name"], second["name"] = second["name"], first["name"]

    report = analyse(put(tmp_path, events(change)))
    assert told(report, "PRF304.backwards") == [Status.LOOK]
    assert told(analyse(put(tmp_path, CUDA)), "PRF304.backwards") == []


def test_ranks_of_several_versions_and_a_broken_one(tmp_path: Path) -> None:
    for rank, name in enumerate(("old_ascend_pt", "new_ascend_pt", "timeline_ascend_pt")):
        shutil.copytree(DATA / name, tmp_path / f"rank{rank}_ascend_pt")
    (tmp_path / "rank3_ascend_pt").mkdir()
    report = analyse(tmp_path)
    assert [part.status for part in report.parts]
    unread = [one for one in report.findings if one.key == "PRF310.unread"]
    assert [(one.status, one.args["rank"]) for one in unread] == [(Status.FIX, 3)]
