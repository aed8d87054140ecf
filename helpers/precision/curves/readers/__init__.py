"""Reads a log of any kind as one Curve, and reads on where the run still writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from helpers.errors import WorkbookError, reason
from helpers.precision.curves.names import settle
from helpers.precision.curves.readers.events import EventsFeed
from helpers.precision.curves.readers.feed import Feed
from helpers.precision.curves.readers.find import HEAD, files_of, kind_of
from helpers.precision.curves.readers.jsonlog import JsonFeed, JsonLinesFeed
from helpers.precision.curves.readers.table import TableFeed
from helpers.precision.curves.readers.text import TextFeed
from helpers.precision.curves.series import Curve

CHUNK = 1 << 20


def read(place: Path, *, pattern: str = "", loss: str = "") -> Curve:
    """The whole log. `pattern` and `loss` as in TextFeed and settle. Raises WorkbookError where there is none."""
    log = Log(place, pattern)
    log.update()
    return log.curve(loss)


class Log:
    """A log that may still grow. `update` reads what is new; a file that was replaced or cut is read anew."""

    def __init__(self, place: Path, pattern: str = "") -> None:
        self.place, self.pattern = place, pattern
        self._begin()

    def _begin(self) -> None:
        self._files: list[Path] = []
        self._feeds: list[Feed] = []
        self._offsets: list[int] = []
        self._states: list[tuple[int, int, int]] = []
        self._curve = Curve(self.place, "")

    def update(self) -> bool:
        """Reads on; whether anything was new. Raises WorkbookError where there is nothing to read."""
        files = files_of(self.place)
        if self._files and self._changed(files):
            self._begin()
        for path in files[len(self._files) :]:
            self._open(path)
        return sum(self._read(at) for at in range(len(self._files))) > 0

    def curve(self, loss: str = "", *, final: bool = True) -> Curve:
        """What was read so far; with `final` the end of the log too, after which no update follows."""
        for feed in self._feeds:
            if final or isinstance(feed, JsonFeed):
                feed.end()
        path = self._files[0] if len(self._files) == 1 else self.place
        view = replace(self._curve, path=path, series=dict(self._curve.series))
        settle(view, loss)
        return view

    def _open(self, path: Path) -> None:
        with _opened(path) as stream:
            kind = "text" if self.pattern else kind_of(path, stream.read(HEAD))
        self._curve.kind, self._curve.path = kind, path
        feeds: dict[str, Callable[[Curve, str], Feed]] = {
            "json": JsonFeed, "jsonl": JsonLinesFeed, "table": TableFeed, "events": EventsFeed,
        }
        made = feeds[kind](self._curve, str(path)) if kind in feeds else TextFeed(self._curve, str(path), self.pattern)
        self._files.append(path)
        self._feeds.append(made)
        self._offsets.append(0)
        self._states.append((0, 0, 0))

    def _read(self, at: int) -> bool:
        path, before = self._files[at], self._offsets[at]
        with _opened(path) as stream:
            self._states[at] = _state(os.fstat(stream.fileno()))
            stream.seek(before)
            while data := stream.read(CHUNK):
                self._feeds[at].feed(data)
                self._offsets[at] += len(data)
        return self._offsets[at] > before

    def _changed(self, files: list[Path]) -> bool:
        """Another file under the same name (a JSON log is written aside and renamed), a shorter one, or others. A JSON
        document that changed at all is another one."""
        if files[: len(self._files)] != self._files:
            return True
        now = [_state(path.stat()) for path in self._files]
        whole = any(isinstance(feed, JsonFeed) for feed in self._feeds)
        return any((one if whole else one[:1]) != (then if whole else then[:1]) or one[1] < offset
                   for one, then, offset in zip(now, self._states, self._offsets))  # fmt: skip


def _state(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise WorkbookError("curves.unreadable", path=str(path), error=reason(error)) from error
