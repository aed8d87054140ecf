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


def began(folder: Path, start: str, where: str) -> None:
    """Told before it starts, and on the disk by then."""
    _add(folder, {"start": start, "where": where})


def ended(folder: Path, state: str, *, last: bool) -> None:
    """How the try that began last ended; `last`: the run has ended with it."""
    _add(folder, {"state": state, "last": last})


def since_last(folder: Path) -> list[Try]:
    """The tries since the run ended; a line that was cut is left out: it was the last thing a lost machine wrote."""
    found: list[Try] = []
    for line in _lines(folder):
        if "where" in line:
            found.append(Try(line["start"], line["where"]))
        elif line.get("last"):
            found = []
        elif found:
            found[-1] = Try(found[-1].start, found[-1].where, line["state"])
    return found


def _add(folder: Path, line: dict[str, Any]) -> None:
    """Begins a line of its own, also behind one that was cut."""
    with (folder / FILE).open("a+b") as stream:
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            cut = stream.read(1) != b"\n"
            stream.write(b"\n" if cut else b"")
        stream.write(json.dumps(line).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def _lines(folder: Path) -> list[dict[str, Any]]:
    found = []
    try:
        text = (folder / FILE).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
