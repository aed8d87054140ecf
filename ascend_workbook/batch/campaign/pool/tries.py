"""Every try of a run, kept in its folder as lines: also one whose runner or machine was lost is told, never hidden."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "tries.jsonl"


@dataclass(frozen=True)
class Try:
    """One that began on the machine `where`, in the start `start` of the plan; `state` is how it ended, empty where
    nothing says so."""

    start: str
    where: str
    state: str = ""


def note_start(folder: Path, start: str, machine: str) -> None:
    """Note that a try starts, on the disk before it does."""
    _add_line(folder, {"start": start, "where": machine})


def note_end(folder: Path, state: str, *, last: bool) -> None:
    """Note how the try that began last ended. `last`: the run has ended with it."""
    _add_line(folder, {"state": state, "last": last})


def tries_since_end(folder: Path) -> list[Try]:
    """Return the tries since the run last ended. A line that was cut is left out: it was the last thing a lost machine
    wrote.
    """
    tries: list[Try] = []
    for line in _read_lines(folder):
        if "where" in line:
            tries.append(Try(line["start"], line["where"]))
        elif line.get("last"):
            tries = []
        elif tries:
            tries[-1] = Try(tries[-1].start, tries[-1].where, line["state"])
    return tries


def _add_line(folder: Path, line: dict[str, Any]) -> None:
    """Add a line, on a line of its own also behind one that was cut."""
    with (folder / FILE).open("a+b") as stream:
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            cut = stream.read(1) != b"\n"
            stream.write(b"\n" if cut else b"")
        stream.write(json.dumps(line).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def _read_lines(folder: Path) -> list[dict[str, Any]]:
    lines = []
    try:
        text = (folder / FILE).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return lines
