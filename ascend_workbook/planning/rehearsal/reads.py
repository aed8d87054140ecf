"""What a rehearsal assumed: each place where the script read a value that nobody computed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.migration.dry_run.original import Original

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


def format_assumptions(assume: Sequence[str], original: Original, mode: str) -> str:
    """Return what was assumed on the command line as the simulator takes it: migrating puts lines in, and it is the
    migrated file that runs."""
    parts = [text.strip() for text in assume if text.strip()]
    if not any(":" in part for part in parts):
        return ";".join(parts)
    migrated = original.migrate_texts(mode)
    return ";".join(_move_assumption(part, original, migrated) for part in parts)


def _move_assumption(part: str, original: Original, migrated: Mapping[Path, bytes]) -> str:
    """Return an assumption with what its line has become; as it is where it names no file of the training's."""
    place, equals, value = part.rpartition("=")
    name, _, number = place.rpartition(":")
    if not (equals and name and number.isdecimal()):
        return part
    for file, before in original.texts.items():
        if f"/{file.as_posix()}".endswith(f"/{name}") and file in migrated:
            return f"{name}:{line_after(before, migrated[file], int(number))}={value}"
    return part


def line_after(before: bytes, after: bytes, line: int) -> int:
    """Return the line that a line has become; where it is none any more, the one in its place."""
    if before == after:
        return line
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        if first < line <= last:
            return max(min(start + line - first, end), start + 1)
    return line
