"""Forty damaged profiles: one clear finding each, or one clear error that names the file; none is refused for a byte.

Each is made of the synthetic CUDA trace, of a folder of torch_npu, or of a database: `found` is the one finding that
tells of the damage, and how many of the whole profile's events must still be read."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.ranks.collectives import group_numbers_at
from ascend_workbook.profiling.readers import read_trace
from ascend_workbook.profiling.readers.columns import NOBODY
from tests.profiling.conftest import DATA

CUDA = (DATA / "cuda.pt.trace.json").read_bytes()
PACKED = gzip.compress(CUDA, mtime=0)
WHOLE = len(read_trace(DATA / "cuda.pt.trace.json"))
KERNELS = 12
Make = Callable[[Path], Path]
Events = list[dict[str, Any]]


class Damaged(NamedTuple):
    """A damaged profile: how it is made, the key of the one finding or error, and the least events read of it."""

    make: Make
    key: str
    events: int = WHOLE


def file_of(content: bytes, name: str = "a.pt.trace.json") -> Make:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def events_of(change: Callable[[Events], object]) -> Make:
    """Make the CUDA trace with its events changed in place."""
    trace = json.loads(CUDA)
    change(trace["traceEvents"])
    return file_of(json.dumps(trace).encode())


def each(wanted: Callable[[dict[str, Any]], object], **changed: Callable[[dict[str, Any]], Any]) -> Make:
    """Make the CUDA trace with some keys of the wanted events changed."""

    def change(events: Events) -> None:
        for event in events:
            if event.get("ph") == "X" and wanted(event):
                event.update({key: of(event) for key, of in changed.items()})

    return events_of(change)


def without(wanted: Callable[[dict[str, Any]], object]) -> Make:
    def change(events: Events) -> None:
        events[:] = [event for event in events if event.get("ph") != "X" or not wanted(event)]

    return events_of(change)


def on_device(event: dict[str, Any]) -> bool:
    return event["cat"] in ("kernel", "gpu_memcpy")


def is_step(event: dict[str, Any]) -> bool:
    return str(event["name"]).startswith("ProfilerStep#")


def table_of(change: Callable[[bytes], bytes]) -> Make:
    """Make a folder of torch_npu that has kernel_details.csv alone, with its bytes changed."""

    def make(folder: Path) -> Path:
        shutil.copytree(DATA / "new_ascend_pt", folder / "rank0_ascend_pt")
        for path in (folder / "rank0_ascend_pt").rglob("*.csv"):
            path.write_bytes(change(path.read_bytes()))
        return folder / "rank0_ascend_pt"

    return make


def timeline_of(change: Callable[[bytes], bytes]) -> Make:
    """Make a folder of torch_npu with its timeline's bytes changed."""

    def make(folder: Path) -> Path:
        shutil.copytree(DATA / "timeline_ascend_pt", folder / "rank0_ascend_pt")
        for path in (folder / "rank0_ascend_pt").rglob("trace_view.json"):
            path.write_bytes(change(path.read_bytes()))
        return folder / "rank0_ascend_pt"

    return make


def database_of(script: str, change: Callable[[bytes], bytes] = bytes) -> Make:
    def make(folder: Path) -> Path:
        path = folder / "rank0_ascend_pt" / "ascend_pytorch_profiler_0.db"
        path.parent.mkdir()
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
            connection.commit()
        path.write_bytes(change(path.read_bytes()))
        return path.parent

    return make


def flip(content: bytes, at: int, by: bytes = b"\xff") -> bytes:
    return content[:at] + by + content[at + len(by) :]


def between(content: bytes, number: int, text: bytes) -> bytes:
    """Put a text before the event of this number."""
    places = [match.start() for match in re.finditer(rb'\{"ph"', content)]
    return content[: places[number]] + text + content[places[number] :]


def broken_event(text: bytes, by: bytes) -> bytes:
    """Return the CUDA trace in which a text is another one, in the event of the second aten::item or behind it."""
    at = CUDA.index(text, LAST)
    return CUDA[:at] + by + CUDA[at + len(text) :]


FIRST, LAST = CUDA.index(b"aten::item"), CUDA.rindex(b"aten::item")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 1234\n"
CUT = PACKED[: len(PACKED) * 9 // 10]
HOUR = 3.6e9
BROKEN: dict[str, Damaged] = {
    # bytes of the file
    "one bad byte in an operator's name": Damaged(file_of(flip(CUDA, FIRST + 2)), "PRF304.replaced_bytes"),
    "a bad byte in the last name": Damaged(file_of(flip(CUDA, LAST)), "PRF304.replaced_bytes"),
    "a bad byte before an event": Damaged(file_of(between(CUDA, 9, b"\xff")), "PRF304.replaced_bytes"),
    "a bad byte in a key": Damaged(
        file_of(CUDA.replace(b'"name": "aten::item"', b'"na\xffe": "aten::item"', 1)), "PRF304.replaced_bytes"
    ),
    "an operator's name in Latin-1": Damaged(
        file_of(CUDA.replace(b"aten::item", b"aten::\xe9t\xe9")), "PRF304.replaced_bytes"
    ),
    "a byte order mark": Damaged(file_of(b"\xef\xbb\xbf" + CUDA), ""),
    "spaces and line ends of Windows": Damaged(file_of(CUDA.replace(b"}, {", b"},\r\n {") + b"\r\n"), ""),
    "a colon that is missing": Damaged(file_of(broken_event(b'"dur": ', b'"dur" ')), "PRF304.broken_events", WHOLE - 1),
    "a comma that is missing": Damaged(file_of(broken_event(b", {", b" {")), "PRF304.broken_events", WHOLE - 1),
    "a quote that is missing": Damaged(file_of(flip(CUDA, FIRST - 1, b" ")), "PRF304.broken_events", WHOLE - 2),
    "a number with a letter in it": Damaged(
        file_of(broken_event(b'"dur": ', b'"dur": x')), "PRF304.broken_events", WHOLE - 1
    ),
    "an event that begins twice": Damaged(file_of(between(CUDA, 9, b'{"ph": ')), "PRF304.broken_events", WHOLE - 2),
    "a list that never ends": Damaged(timeline_of(lambda content: content.rstrip()[:-1]), "PRF304.cut_short", 30),
    "a list that ends behind a comma": Damaged(
        timeline_of(lambda content: content.rstrip()[:-1] + b",]"), "PRF304.damaged", 30
    ),
    "zeros behind the end": Damaged(file_of(CUDA + bytes(512)), "PRF304.damaged"),
    "a trace cut at two thirds": Damaged(file_of(CUDA[: len(CUDA) * 2 // 3]), "PRF304.cut_short", WHOLE // 2),
    # packed files
    "a packed file whose sum is wrong": Damaged(
        file_of(flip(PACKED, len(PACKED) - 8, b"\0\0\0\0"), "a.trace.json.gz"), "PRF304.damaged"
    ),
    "a packed file with something behind it": Damaged(file_of(PACKED + b"more", "a.trace.json.gz"), "PRF304.damaged"),
    "a packed file that was cut": Damaged(file_of(CUT, "a.trace.json.gz"), "PRF304.cut_short", WHOLE // 2),
    "a packed file that is called .json": Damaged(file_of(PACKED), ""),
    "a file packed twice": Damaged(file_of(gzip.compress(PACKED), "a.trace.json.gz"), "profiling.not_json"),
    # no trace at all
    "a text": Damaged(file_of(b"hello\n"), "profiling.not_json"),
    "a page of an error": Damaged(file_of(b"<!DOCTYPE html><html>404</html>"), "profiling.not_json"),
    "what Git LFS leaves": Damaged(file_of(POINTER), "profiling.is_pointer"),
    "what Git LFS leaves of a packed file": Damaged(file_of(POINTER, "a.trace.json.gz"), "profiling.is_pointer"),
    "UTF-16": Damaged(file_of(CUDA.decode().encode("utf-16")), "profiling.not_json"),
    "a number": Damaged(file_of(b"42"), "profiling.not_a_trace"),
    # what events say
    "kernels that end before they begin": Damaged(
        each(on_device, dur=lambda event: -event["dur"]), "PRF304.negative_duration", WHOLE - KERNELS
    ),
    "times that are texts of no number": Damaged(
        each(lambda event: event["name"] == "aten::item", ts=lambda event: "soon"), "PRF304.no_time", WHOLE - 3
    ),
    "a device that nobody knows": Damaged(
        each(on_device, cat=lambda event: "hpu_op"), "PRF304.foreign_device", WHOLE - KERNELS
    ),
    "two steps of one number": Damaged(each(is_step, name=lambda event: "ProfilerStep#50"), "PRF304.same_number"),
    "steps in the wrong order": Damaged(
        each(is_step, name=lambda event: f"ProfilerStep#{99 - int(event['name'][-2:])}"), "PRF304.backwards"
    ),
    "kernels that stand there twice": Damaged(
        events_of(lambda events: events.extend([dict(e) for e in events if e.get("cat") == "kernel"])), "PRF304.twice"
    ),
    "launches without one kernel": Damaged(without(on_device), "PRF301.absent", WHOLE - KERNELS),
    "kernels without a host": Damaged(without(lambda event: not on_device(event)), "PRF302.unmarked", KERNELS),
    # folders and databases of an NPU
    "a table with one bad byte": Damaged(
        table_of(lambda content: flip(content, content.index(b"onv"))), "PRF304.replaced_bytes", 1
    ),
    "a timeline with one bad byte": Damaged(
        timeline_of(lambda content: flip(content, content.index(b"aten::") + 2)), "PRF304.replaced_bytes", 1
    ),
    "a timeline that was cut": Damaged(timeline_of(lambda content: content[:-300]), "PRF304.cut_short", 1),
    "a database without tasks": Damaged(
        database_of("CREATE TABLE STRING_IDS (id INTEGER, value TEXT);"), "profiling.no_events"
    ),
    "a database whose first page is gone": Damaged(
        database_of("CREATE TABLE TASK (a);", lambda content: bytes(100) + content[100:]), "profiling.unreadable"
    ),
}


def test_there_are_forty() -> None:
    assert len(BROKEN) == 40


@pytest.mark.parametrize("case", BROKEN)
def test_one_clear_finding(tmp_path: Path, case: str) -> None:
    made = BROKEN[case]
    path = made.make(tmp_path)
    if made.key.startswith("profiling."):
        with pytest.raises(WorkbookError) as told:
            analyse(path)
        assert told.value.key == made.key
        for lang in ("en", "zh"):
            assert str(tmp_path) in told.value.message(lang) and told.value.hint(lang)
        return
    report = analyse(path)
    findings = [finding for part in (report, *report.parts) for finding in part.findings]
    unused = {finding.key for finding in findings if finding.rule == "PRF304" and finding.status is not Status.GOOD}
    assert unused == ({made.key} if made.key.startswith("PRF304") else set())
    assert not made.key or made.key in {finding.key for finding in findings}
    assert len(read_trace(path)) >= made.events


def test_a_rank_that_is_nobodys_makes_no_world_of_billions(tmp_path: Path) -> None:
    script = f"""CREATE TABLE STRING_IDS (id INTEGER, value TEXT); INSERT INTO STRING_IDS VALUES (1, 'group');
        CREATE TABLE COMMUNICATION_TASK_INFO (groupName INTEGER, srcRank INTEGER, dstRank INTEGER);
        INSERT INTO COMMUNICATION_TASK_INFO VALUES (1, {NOBODY}, {NOBODY});"""
    profile = database_of(script)(tmp_path)
    assert group_numbers_at(profile) == ({}, {})
    with closing(sqlite3.connect(next(profile.glob("*.db")))) as connection:
        connection.execute("INSERT INTO COMMUNICATION_TASK_INFO VALUES (1, 2, 5)")
        connection.commit()
    assert group_numbers_at(profile) == ({"group": 2}, {"group": 6})
