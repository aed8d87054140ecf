"""Reads `watch.jsonl`, also that of a run that was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.precision.child.watch_rules import Rules

SCHEMA = "ascend-workbook/watch/1"
FILE = "watch.jsonl"
#: What the launch knows of a run, beside the file.
ABOUT = "watch.json"


@dataclass
class Watched:
    """One process. `end` is its last line, empty where the run was killed; `cut` counts lines that are no JSON."""

    path: Path
    rank: int = 0
    head: dict[str, Any] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    #: What the rules say, now that the file is read: the same that the run was told.
    alarms: list[dict[str, Any]] = field(default_factory=list)
    #: States written for an alarm, by its step.
    states: dict[int, str] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)
    cut: int = 0

    @property
    def sizes(self) -> list[int]:
        return [int(size) for size in self.head.get("sizes", ())]

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.head.get("parameters", ())]


def find_files(place: Path) -> list[Path]:
    """The files behind a path, rank 0 first: itself, or all ranks' of a folder. Raises WorkbookError for none."""
    if place.is_file():
        return [place]
    files = sorted(place.glob("watch.rank*.jsonl"), key=lambda path: int("".join(filter(str.isdigit, path.stem)) or 0))
    first = place / FILE
    paths = [*([first] if first.is_file() else []), *files]
    if not paths:
        raise WorkbookError("watch.no_file", path=str(place))
    return paths


def read_watched(path: Path) -> Watched:
    """Read a file and judge it. Raises WorkbookError where it cannot be read, or is none of ours."""
    watched, rules = Watched(path), Rules()
    for record in _read_lines(path, watched):
        if "schema" in record:
            if record["schema"] != SCHEMA:
                raise WorkbookError("watch.other_schema", path=str(path), found=str(record["schema"]), expected=SCHEMA)
            watched.head, watched.rank = record, int(record.get("rank", 0))
            rules.set_names(watched.names, watched.sizes)
        elif "alarm" in record:
            if record["alarm"].get("state"):
                watched.states[int(record["alarm"]["step"])] = str(record["alarm"]["state"])
        elif "end" in record:
            watched.end = record["end"]
        elif "step" in record:
            try:
                watched.alarms += rules.see(record)
            except (TypeError, ValueError, IndexError, KeyError) as error:
                raise WorkbookError("watch.bad_record", path=str(path), error=str(error)) from error
            watched.records.append(record)
    if not watched.head:
        raise WorkbookError("watch.no_head", path=str(path))
    return watched


def _read_lines(path: Path, watched: Watched) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    watched.cut += 1
                    continue
                if isinstance(record, dict):
                    yield record
                else:
                    watched.cut += 1
    except OSError as error:
        raise WorkbookError("curves.unreadable", path=str(path), error=explain_os_error(error)) from error


def read_about(folder: Path) -> dict[str, Any]:
    """What was launched; empty where the script watched itself."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}
