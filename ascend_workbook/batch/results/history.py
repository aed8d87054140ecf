"""Earlier summaries of a plan: the last that were complete, kept in `history/` of its folder.

They are numbered in the order in which they were made: the clock of a machine may be set back between two of them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ascend_workbook.batch.results.against import Before
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.storage import open_storage

FOLDER, KEPT, LAST = "history", 30, "last"
#: The form of summary.json; summary.schema.json describes it.
SCHEMA_VERSION = 1


def find_earlier(name_or_path: str, folder: Path, plan: str) -> Before | None:
    """Find the earlier summary that the user named. `last` is the last complete one of this plan (None where there is
    none), else the name is a summary.json or the folder that holds one. Raises WorkbookError for a path that holds
    none."""
    if name_or_path != LAST:
        path = Path(name_or_path)
        return _read_before(path / "summary.json" if path.is_dir() else path)
    for path in reversed(_list_summaries(folder)):
        try:
            summary = _load_summary(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # the ones before it are as good as it was
        if summary["plan"] == plan and summary["complete"]:
            return _make_before(path, summary)
    return None


def keep_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Keep a complete summary and drop the oldest above KEPT; the same one is kept once."""
    if not summary["complete"]:
        return
    summaries = _list_summaries(folder)
    text = json.dumps(summary, ensure_ascii=False, indent=1)
    when = "".join(letter for letter in summary["created"] if letter.isalnum())
    again = next((path.stem for path in summaries if path.stem.endswith(when)), "")
    name = again or f"{max(map(_number_of, summaries), default=0) + 1:06}-{when}"
    open_storage(str(folder / FOLDER)).write_text(f"{name}.json", text)
    for old in [path for path in summaries if path.stem != name][: max(0, len(summaries) + 1 - KEPT)]:
        old.unlink(missing_ok=True)


def find_latest(folder: Path) -> tuple[datetime, Path] | None:
    """Return the latest time among the summaries, in UTC, with its file; None where there is none."""
    times: list[tuple[datetime, Path]] = []
    for path in _list_summaries(folder):
        with suppress(ValueError):  # a file of another's
            when = datetime.strptime(path.stem.rpartition("-")[2][:15], "%Y%m%dT%H%M%S")
            times.append((when.replace(tzinfo=timezone.utc), path))
    return max(times, default=None)


def _list_summaries(folder: Path) -> list[Path]:
    """List the summaries in the order in which they were made."""
    paths = (path for path in (folder / FOLDER).glob("*.json") if not path.name.startswith("."))
    return sorted(paths, key=lambda path: (_number_of(path), path.name))


def _number_of(path: Path) -> int:
    """Return the number of a summary; 0 where its name is its time alone, as it is older than all numbered ones."""
    number, dash, _ = path.stem.partition("-")
    return int(number) if dash and number.isdecimal() else 0


def _read_before(path: Path) -> Before:
    try:
        return _make_before(path, _load_summary(path))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as cause:
        why: Scalar = explain_os_error(cause) if isinstance(cause, OSError) else str(cause)
        raise WorkbookError("plan.against", path=str(path), error=why) from cause


def _load_summary(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"schema_version {content['schema_version']!r}, expected {SCHEMA_VERSION}")
    return content


def _make_before(path: Path, content: dict[str, Any]) -> Before:
    needed = ("name", "state", "red", "seconds", "tier", "attempts", "reused", "stages")
    runs = {run["name"]: {name: run[name] for name in needed} for run in content["runs"]}
    return Before(str(path), str(content["created"]), runs)
