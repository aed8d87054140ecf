"""What a rehearsal assumed: each place where the script read a value that nobody computed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: What rides in the process reads losses too; that is none of the script's.
OURS = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True)
class Read:
    """A value that the host read of what was only modelled. `sets_shape`: the size of a tensor came of it.

    kind: `value`, or `file` where a large file was not written."""

    file: str
    line: int
    operator: str
    value: str
    sets_shape: bool = False
    kind: str = "value"


def load_reads(path: Path) -> list[Read]:
    """Read the list that the simulator left, each place once; a line that a killed run left half is passed over."""
    reads: dict[tuple[str, int, str], Read] = {}
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            read = Read(
                str(entry["file"]),
                int(entry["line"]),
                str(entry["operator"]),
                str(entry.get("value", "")),
                bool(entry.get("sets_shape")),
                str(entry.get("kind", "value")),
            )
        except (ValueError, KeyError, TypeError):
            continue
        if read.file.startswith(OURS):
            continue
        reads.setdefault((read.file, read.line, read.operator), read)
    return list(reads.values())


def format_assumptions(assume: Sequence[str]) -> str:
    """Return what was assumed on the command line as the simulator takes it."""
    return ";".join(text.strip() for text in assume if text.strip())
