"""Which files a path stands for, and what they are: by name where it says so, else by their first bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

#: Looked at of a file to tell what it is.
HEAD = 8192
#: Entries of a folder that are looked at.
MOST = 10_000
GPULOG = "gpulog.json"
KINDS = ("json", "jsonl", "table", "events", "text")


def files_of(place: Path) -> list[Path]:
    """The log files behind a path: itself, or of a folder the best that it holds. Event files go together, oldest
    first. Raises WorkbookError where there is none, or several text logs to choose from."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise WorkbookError("precision.no_log", path=str(place))
    names = sorted(entry.name for entry, _ in zip(os.scandir(place), range(MOST)) if entry.is_file())
    for wanted in (GPULOG, "trainer_state.json"):
        if wanted in names:
            return [place / wanted]
    if events := [name for name in names if ".tfevents." in name]:
        return [place / name for name in sorted(events, key=_time_written)]
    states = sorted(place.glob("checkpoint-*/trainer_state.json"), key=_checkpoint_number)
    if states:  # the Trainer keeps the whole history in each checkpoint
        return [states[-1]]
    if below := sorted({path.parent for path in place.glob("*/*.tfevents.*")}):
        return files_of(_only_file(place, below))
    return _find_logs(place, names)


def kind_of(path: Path, head: bytes) -> str:
    """One of KINDS. Raises WorkbookError for an empty file, or a binary one that is no event file."""
    if not head.strip():
        raise WorkbookError("curves.empty", path=str(path))
    if ".tfevents." in path.name or _begins_tfrecord(head):
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
    if start[:1] == b"{" and _line_is_record(start):
        return "jsonl"
    if start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"]") or start[:2] == b'{"' or name.endswith(".json"):
        return "json"
    if start[:1] == b"{" and start[1:].lstrip()[:1] == b'"':
        return "json"
    return "text"


def _line_is_record(start: bytes) -> bool:
    """Whether the first line is a whole record and another follows it."""
    first, newline, more = start.partition(b"\n")
    return bool(newline) and first.rstrip().endswith(b"}") and more.lstrip()[:1] in (b"{", b"")


def _begins_tfrecord(head: bytes) -> bool:
    """Whether a TFRecord begins here: the first event of a file is `brain.Event:2`."""
    return b"brain.Event:" in head[:64]


def _find_logs(place: Path, names: list[str]) -> list[Path]:
    for fits in (
        _matches_name("metrics.csv"),
        _matches_ending(".csv", ".tsv"),
        _matches_ending(".jsonl", "scalars.json", ".log.json"),
        _matches_ending(".log"),
        _matches_ending(".out", ".txt"),
        _matches_ending(".json"),
    ):
        paths = [place / name for name in names if fits(name)]
        if paths:
            return [_only_file(place, paths)]
    raise WorkbookError("precision.no_log", path=str(place / GPULOG))


def _matches_name(wanted: str) -> Callable[[str], bool]:
    return lambda name: name == wanted


def _matches_ending(*endings: str) -> Callable[[str], bool]:
    return lambda name: name.endswith(endings)


def _only_file(place: Path, paths: list[Path]) -> Path:
    if len(paths) > 1:
        raise WorkbookError("curves.several", path=str(place), files=[path.name for path in paths[:8]])
    return paths[0]


def _time_written(name: str) -> tuple[str, str]:
    """`events.out.tfevents.<seconds>.<host>...`"""
    return name.partition(".tfevents.")[2].partition(".")[0].zfill(20), name


def _checkpoint_number(path: Path) -> int:
    tail = path.parent.name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else -1
