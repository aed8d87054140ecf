"""The logs to read: files, folders (plogs, torchrun's log folder), standard input, or a text."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from helpers.errors import WorkbookError

#: What a folder's logs are called; others in it are left alone.
SUFFIXES = (".log", ".txt", ".out", ".err")
OVERFLOW_FILES = "opdebug"
RANK_IN_NAME = re.compile(r"(?:rank|worker|local_rank)[-_]?(\d+)|[/\\](\d+)[/\\]std(?:out|err)\.log$", re.IGNORECASE)
PATH_LIKE = re.compile(r"\S+[/\\]\S*|\S+\.(?:log|txt|out|err|json)")


@dataclass(frozen=True)
class Log:
    """One log. `name` is shown; `rank` is what the file's name says, or empty."""

    name: str
    path: Path | None = None
    data: bytes = b""

    @property
    def is_text(self) -> bool:
        """It was given in place of a log."""
        return self.path is None and not self.name

    @property
    def rank(self) -> str:
        found = RANK_IN_NAME.search(self.name)
        return next(filter(None, found.groups()), "") if found else ""

    def open(self) -> BinaryIO:
        """Its bytes, from the start. Raises WorkbookError where the file cannot be read."""
        if self.path is None:
            return io.BytesIO(self.data)
        try:
            return self.path.open("rb")
        except OSError as error:
            raise WorkbookError("explain.unreadable", path=str(self.path), error=str(error)) from error


def logs_of(places: Sequence[str | os.PathLike[str]]) -> list[Log]:
    """The logs behind paths, folders, `-` or texts. Raises WorkbookError for a path that is not there."""
    return [log for place in places for log in _logs_of(place)]


def _logs_of(place: str | os.PathLike[str]) -> Iterator[Log]:
    if place == "-":
        yield Log("-", data=sys.stdin.buffer.read())
        return
    path = _path(place)
    if path is None:
        yield Log("", data=str(place).encode("utf-8", errors="replace"))
    elif path.is_dir():
        found = [file for file in sorted(path.rglob("*")) if _is_log(file)]
        if not found:
            raise WorkbookError("explain.no_logs", path=str(path), suffixes=list(SUFFIXES))
        yield from (Log(str(file), file) for file in found)
    else:
        yield Log(str(path), path)


def _path(place: str | os.PathLike[str]) -> Path | None:
    """None for a text: what is neither a file nor looks like the name of one."""
    if isinstance(place, os.PathLike):
        return _existing(Path(place))
    if "\n" in place or len(place) > 1000:
        return None
    if Path(place).exists() or PATH_LIKE.fullmatch(place.strip()):
        return _existing(Path(place.strip()))
    return None


def _existing(path: Path) -> Path:
    if not path.exists():
        raise WorkbookError("explain.no_file", path=str(path))
    return path


def _is_log(path: Path) -> bool:
    named = path.suffix.lower() in SUFFIXES or OVERFLOW_FILES in path.name.lower()
    return named and path.is_file()
