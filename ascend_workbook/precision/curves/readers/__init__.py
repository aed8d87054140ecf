"""Reads a log of any kind as one Curve, and reads on where the run still writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.precision.curves.readers.events import EventsFeed
from ascend_workbook.precision.curves.readers.feed import Feed
from ascend_workbook.precision.curves.readers.records import JsonFeed, JsonLinesFeed, TableFeed
from ascend_workbook.precision.curves.readers.text import TextFeed
from ascend_workbook.precision.curves.series import Curve, rename_series
from ascend_workbook.storage import natural_key

# Which files a path stands for, and what they are: by name where it says so, else by their first bytes.

#: Looked at of a file to tell what it is.
HEAD = 8192
#: Entries of a folder that are looked at.
MOST = 10_000
GPULOG = "gpulog.json"
WATCHED = "watch.jsonl"
#: Of a folder the first of these that it has, and one alone.
LOGS = ((".csv", ".tsv"), (".jsonl", "scalars.json", ".log.json"), (".log",), (".out", ".txt"), (".json",))


def files_of(place: Path) -> list[Path]:
    """The log files behind a path: itself, or of a folder the best that it holds. Event files go together, oldest
    first. Raises WorkbookError where there is none, or several text logs to choose from."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise WorkbookError("precision.no_log", path=str(place))
    names = sorted(entry.name for entry, _ in zip(os.scandir(place), range(MOST)) if entry.is_file())
    for wanted in (WATCHED, GPULOG, "trainer_state.json"):
        if wanted in names:
            return [place / wanted]
    if events := [name for name in names if ".tfevents." in name]:  # events.out.tfevents.<seconds>.<host>...
        return [place / name for name in sorted(events, key=lambda name: natural_key(name.partition(".tfevents.")[2]))]
    if states := sorted(place.glob("checkpoint-*/trainer_state.json"), key=lambda path: natural_key(path.parent.name)):
        return [states[-1]]  # the Trainer keeps the whole history in each checkpoint
    if below := sorted({path.parent for path in place.glob("*/*.tfevents.*")}):
        return files_of(_only_file(place, below))
    if "metrics.csv" in names:
        return [place / "metrics.csv"]
    for endings in LOGS:
        if paths := [place / name for name in names if name.endswith(endings)]:
            return [_only_file(place, paths)]
    raise WorkbookError("precision.no_log", path=str(place / GPULOG))


def kind_of(path: Path, head: bytes) -> str:
    """json, jsonl, table, events or text. Raises WorkbookError for an empty file, or a binary one without events."""
    if not head.strip():
        raise WorkbookError("curves.empty", path=str(path))
    if ".tfevents." in path.name or b"brain.Event:" in head[:64]:
        return "events"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise WorkbookError("curves.utf16", path=str(path))
    if b"\0" in head:
        raise WorkbookError("curves.binary", path=str(path))
    name, start = path.name.lower(), head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if name.endswith((".csv", ".tsv")):
        return "table"
    if name.endswith((".jsonl", ".ndjson")):
        return "jsonl"
    first, newline, more = start.partition(b"\n")
    whole = newline and first.rstrip().endswith(b"}") and more.lstrip()[:1] in (b"{", b"")
    if start[:1] == b"{" and whole:  # the first line is a record, and another follows it
        return "jsonl" if _is_json(first) else "text"  # a printed dict of Python's has other quotes
    inner = start[1:].lstrip()[:1]
    if name.endswith(".json") or start[:1] == b"[" and inner in (b"{", b"]") or start[:1] == b"{" and inner == b'"':
        return "json"
    return "text"


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _only_file(place: Path, paths: list[Path]) -> Path:
    if len(paths) > 1:
        raise WorkbookError("curves.several", path=str(place), files=[path.name for path in paths[:8]])
    return paths[0]


CHUNK = 1 << 20
FEEDS: dict[str, Callable[[Curve, str], Feed]] = {"json": JsonFeed, "jsonl": JsonLinesFeed}
FEEDS.update(table=TableFeed, events=EventsFeed)


def read(place: Path, *, pattern: str = "", loss: str = "") -> Curve:
    """The whole log. `pattern` and `loss` as in TextFeed and settle. Raises WorkbookError where there is none."""
    log = Log(place, pattern)
    log.read_new()
    return log.make_curve(loss)


class Log:
    """A log that may still grow. `read_new` reads what is new; a file that was replaced or cut is read anew."""

    def __init__(self, place: Path, pattern: str = "") -> None:
        self.place, self.pattern = place, pattern
        self._start_over()

    def _start_over(self) -> None:
        self._files: list[Path] = []
        self._feeds: list[Feed] = []
        self._offsets: list[int] = []
        self._states: list[tuple[int, int, int]] = []
        self._curve = Curve(self.place, "")

    def read_new(self) -> bool:
        """Reads on; whether anything was new. Raises WorkbookError where there is nothing to read."""
        files = files_of(self.place)
        if self._files and self._was_replaced(files):
            self._start_over()
        for path in files[len(self._files) :]:
            self._open_file(path)
        return sum(self._read_file(at) for at in range(len(self._files))) > 0

    def make_curve(self, loss: str = "", *, final: bool = True) -> Curve:
        """What was read so far; with `final` the end of the log too, after which no update follows."""
        for feed in self._feeds:
            if final or isinstance(feed, JsonFeed):
                feed.end()
        path = self._files[0] if len(self._files) == 1 else self.place
        view = replace(self._curve, path=path, series=dict(self._curve.series))
        rename_series(view, loss)
        return view

    def _open_file(self, path: Path) -> None:
        with _open_log(path) as stream:
            kind = "text" if self.pattern else kind_of(path, stream.read(HEAD))
        self._curve.kind, self._curve.path = kind, path
        feed = FEEDS.get(kind)
        self._files.append(path)
        self._feeds.append(feed(self._curve, str(path)) if feed else TextFeed(self._curve, str(path), self.pattern))
        self._offsets.append(0)
        self._states.append((0, 0, 0))

    def _read_file(self, at: int) -> bool:
        path, before = self._files[at], self._offsets[at]
        with _open_log(path) as stream:
            self._states[at] = _file_state(os.fstat(stream.fileno()))
            stream.seek(before)
            while data := stream.read(CHUNK):
                self._feeds[at].feed(data)
                self._offsets[at] += len(data)
        return self._offsets[at] > before

    def _was_replaced(self, files: list[Path]) -> bool:
        """Another file under the same name (a JSON log is written aside and renamed), a shorter one, or others. A JSON
        document that changed at all is another one."""
        if files[: len(self._files)] != self._files:
            return True
        now = [_file_state(path.stat()) for path in self._files]
        whole = any(isinstance(feed, JsonFeed) for feed in self._feeds)
        return any(
            (current if whole else current[:1]) != (then if whole else then[:1]) or current[1] < offset
            for current, then, offset in zip(now, self._states, self._offsets)
        )


def _file_state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _open_log(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise WorkbookError("curves.unreadable", path=str(path), error=explain_os_error(error)) from error
