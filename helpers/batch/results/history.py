"""Earlier summaries of a plan: the last that were complete, kept in `history/` of its folder.

They are numbered in the order in which they were made: the clock of a machine may be set back between two of them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from helpers.batch.results.against import Before
from helpers.errors import WorkbookError, reason
from helpers.storage import open_storage
from helpers.words import Scalar

FOLDER, KEPT, LAST = "history", 30, "last"
#: The form of summary.json; summary.schema.json describes it.
SCHEMA_VERSION = 1


def find(wanted: str, folder: Path, plan: str) -> Before | None:
    """The earlier summary that `wanted` names: `last` is the last complete one of this plan (None where there is none),
    else a summary.json or the folder that holds one. Raises WorkbookError for a path that holds none."""
    if wanted != LAST:
        path = Path(wanted)
        return _read(path / "summary.json" if path.is_dir() else path)
    for path in reversed(_kept(folder)):
        try:
            found = _load(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # the ones before it are as good as it was
        if found["plan"] == plan and found["complete"]:
            return _before(path, found)
    return None


def keep(folder: Path, summary: dict[str, Any]) -> None:
    """Adds a complete summary and lets go of the oldest above KEPT; the same again is kept once."""
    if not summary["complete"]:
        return
    kept = _kept(folder)
    text = json.dumps(summary, ensure_ascii=False, indent=1)
    when = "".join(letter for letter in summary["created"] if letter.isalnum())
    again = next((path.stem for path in kept if path.stem.endswith(when)), "")
    name = again or f"{max(map(_number, kept), default=0) + 1:06}-{when}"
    open_storage(str(folder / FOLDER)).write_text(f"{name}.json", text)
    for old in [path for path in kept if path.stem != name][: max(0, len(kept) + 1 - KEPT)]:
        old.unlink(missing_ok=True)


def latest(folder: Path) -> tuple[datetime, Path] | None:
    """The latest time that any of them bears, in UTC, and which; None where there is none."""
    found: list[tuple[datetime, Path]] = []
    for path in _kept(folder):
        with suppress(ValueError):  # a file of another's
            when = datetime.strptime(path.stem.rpartition("-")[2][:15], "%Y%m%dT%H%M%S")
            found.append((when.replace(tzinfo=timezone.utc), path))
    return max(found, default=None)


def _kept(folder: Path) -> list[Path]:
    """In the order in which they were made."""
    found = (path for path in (folder / FOLDER).glob("*.json") if not path.name.startswith("."))
    return sorted(found, key=lambda path: (_number(path), path.name))


def _number(path: Path) -> int:
    """0 of one whose name is its time alone: it is older than all that are numbered."""
    number, dash, _ = path.stem.partition("-")
    return int(number) if dash and number.isdecimal() else 0


def _read(path: Path) -> Before:
    try:
        return _before(path, _load(path))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as cause:
        why: Scalar = reason(cause) if isinstance(cause, OSError) else str(cause)
        raise WorkbookError("plan.against", path=str(path), error=why) from cause


def _load(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"schema_version {content['schema_version']!r}, expected {SCHEMA_VERSION}")
    return content


def _before(path: Path, content: dict[str, Any]) -> Before:
    needed = ("name", "state", "red", "seconds", "tier", "attempts", "reused", "stages")
    runs = {run["name"]: {name: run[name] for name in needed} for run in content["runs"]}
    return Before(str(path), str(content["created"]), runs)
