"""`course.json` beside the runs: for each task its status, tries, time and the answer that was judged.

Who grades need not believe the status: `answer` is what was handed over, and can be checked again.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.course.outcome import DONE, NOT_YET, PARTLY, Outcome
from helpers.errors import WorkbookError, reason

NAME = "course.json"
FORMAT = 1
#: A record is small; what is larger is none of ours.
LARGEST = 4 << 20


@dataclass(frozen=True)
class Entry:
    """One task's last check. `time` is UTC, ISO 8601; `right` and `missing` count sentences; None: nothing answered."""

    task: str
    status: str
    tries: int
    time: str
    simulated: bool
    right: int = 0
    missing: int = 0
    answer: Any = None


@dataclass(frozen=True)
class Record:
    """A student's tasks by id; a task never checked is not in it."""

    student: str = ""
    tasks: dict[str, Entry] = field(default_factory=dict)


def read_record(run_dir: str | os.PathLike[str]) -> Record:
    """The record below `run_dir`, empty where there is none.

    Raises WorkbookError `course.record` where course.json is not one, naming the field.
    """
    path = Path(run_dir) / NAME
    try:
        if path.stat().st_size > LARGEST:
            raise WorkbookError("course.record", path=str(path), why=f"> {LARGEST} bytes")
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Record()
    except OSError as error:
        raise WorkbookError("course.record", path=str(path), why=reason(error)) from error
    except (ValueError, RecursionError) as error:
        raise WorkbookError("course.record", path=str(path), why=f"{type(error).__name__}: {error}"[:200]) from error
    return _checked(data, path)


def _checked(data: Any, path: Path) -> Record:
    def wrong(what: str) -> WorkbookError:
        return WorkbookError("course.record", path=str(path), why=what)

    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise wrong(f"format is not {FORMAT}")
    told = data.get("tasks")
    if not isinstance(told, dict) or not isinstance(data.get("student"), str):
        raise wrong("student, tasks")
    return Record(data["student"], {name: _entry(name, each, wrong) for name, each in told.items()})


def _entry(name: str, data: Any, wrong: Any) -> Entry:
    types = {"status": str, "tries": int, "time": str, "simulated": bool, "right": int, "missing": int}
    if not isinstance(data, dict):
        raise wrong(f"tasks.{name}")
    for key, kind in types.items():
        if type(data.get(key)) is not kind:
            raise wrong(f"tasks.{name}.{key}")
    if data["status"] not in (DONE, PARTLY, NOT_YET):
        raise wrong(f"tasks.{name}.status")
    return Entry(name, **{key: data[key] for key in types}, answer=data.get("answer"))


def write(run_dir: Path, student: str, outcome: Outcome, answer: Any) -> None:
    """Puts the outcome into the record: written aside, then renamed. Raises as `read_record`, or OSError."""
    before = read_record(run_dir)
    kept = before.tasks if before.student == student else {}
    told = {name: {key: value for key, value in vars(each).items() if key != "task"} for name, each in kept.items()}
    told[outcome.task] = {
        "status": outcome.status, "tries": outcome.tries, "simulated": outcome.simulated,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "right": len(outcome.right), "missing": len(outcome.missing), "answer": plain(answer),
    }  # fmt: skip
    _replace(run_dir / NAME, json.dumps({"format": FORMAT, "student": student, "tasks": told}, indent=1))


def plain(answer: Any) -> Any:
    """The answer as JSON keeps it; what JSON cannot keep, or is too large, becomes None."""
    try:
        text = json.dumps(answer, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return json.loads(text) if len(text) < LARGEST // 16 else None


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    number, aside = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as sink:
            sink.write(text)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
