"""`course.json` beside the runs: for each task its status, tries, time and the answer that was judged.

Who grades need not believe the status: `answer` is what was handed over, and can be checked again.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

from ascend_workbook.batch.campaign.cards import take_lock
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.storage import write_file
from course.exercises.outcome import DONE, NOT_YET, PARTLY, Outcome

#: A change takes milliseconds; what takes longer is a process that was stopped.
PATIENCE_S, AGAIN_S = 10.0, 0.01
#: What flock(2) says on a file system that has no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)


@contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Hold the lock of the file `path`, in `.NAME.lock` beside it; False where the file system has no locks.

    The lock ends with its process, however that ends. Raises WorkbookError `course.busy` where another holds it for
    longer than PATIENCE_S, OSError where the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _take_lock(path)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _take_lock(path: Path) -> int | None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            handle = take_lock(path.with_name(f".{path.name}.lock"))
        except OSError as error:
            if error.errno in NO_LOCKS:
                return None
            raise
        if handle is not None:
            return handle
        if time.monotonic() > end:
            raise WorkbookError("course.busy", path=str(path), seconds=PATIENCE_S)
        time.sleep(AGAIN_S)


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


BLANK = Entry("", NOT_YET, 0, "", simulated=False)


@dataclass(frozen=True)
class Record:
    """A student's tasks by id; a task never checked is not in it."""

    student: str = ""
    tasks: dict[str, Entry] = field(default_factory=dict)


def read_record(run_dir: str | os.PathLike[str]) -> Record:
    """Return the record below `run_dir`, empty where there is none.

    Raises WorkbookError `course.record` where course.json is not one, naming the field.
    """
    path = Path(run_dir) / NAME
    try:
        # of a plain file: a pipe would be waited for, and a device has no end.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise WorkbookError("course.record", path=str(path), why=Sentence("course.no_file"))
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise WorkbookError("course.record", path=str(path), why=f"> {LARGEST} bytes")
        data = json.loads(data.decode("utf-8"))
    except FileNotFoundError:
        return Record()
    except OSError as error:
        raise WorkbookError("course.record", path=str(path), why=explain_os_error(error)) from error
    except (ValueError, RecursionError) as error:
        raise WorkbookError("course.record", path=str(path), why=f"{type(error).__name__}: {error}"[:200]) from error

    def make_error(what: str) -> WorkbookError:
        return WorkbookError("course.record", path=str(path), why=what)

    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise make_error(f"format is not {FORMAT}")
    tasks = data.get("tasks")
    if not isinstance(tasks, dict) or not isinstance(data.get("student"), str):
        raise make_error("student, tasks")
    return Record(data["student"], {name: _check_entry(name, entry, make_error) for name, entry in tasks.items()})


def _check_entry(name: str, data: Any, wrong: Any) -> Entry:
    types = {"status": str, "tries": int, "time": str, "simulated": bool, "right": int, "missing": int}
    if not isinstance(data, dict):
        raise wrong(f"tasks.{name}")
    for key, kind in types.items():
        if type(data.get(key)) is not kind:
            raise wrong(f"tasks.{name}.{key}")
    if data["status"] not in (DONE, PARTLY, NOT_YET):
        raise wrong(f"tasks.{name}.status")
    return Entry(name, **{key: data[key] for key in types}, answer=data.get("answer"))


def keep_outcome(
    run_dir: Path, student: str, outcome: Outcome, answer: Any, *, counts: bool = True
) -> tuple[int, Sentence | None]:
    """Put the outcome of an answer of plain data into the record, while nobody else changes it; return the task's
    tries so far (`counts`: whether this is one), and what is to be known of the record.

    A record that cannot be read is put aside, and said. Raises WorkbookError `course.busy`, or OSError.
    """
    path = run_dir / NAME
    with hold_lock(path) as locked:
        before, remark = _read_before(run_dir)
        entries = before.tasks if before.student == student else {}
        tries = (entries[outcome.task].tries if outcome.task in entries else 0) + counts
        tasks = {name: _entry_as_json(entry) for name, entry in entries.items()}
        tasks[outcome.task] = {
            "status": outcome.status,
            "tries": tries,
            "simulated": outcome.simulated,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "right": len(outcome.right),
            "missing": len(outcome.missing),
            "answer": answer,
        }
        _replace_record(path, student, tasks, sweep=locked)
    if not remark and not locked:  # the missing lock is said once for a folder in a process
        left = _said_once(run_dir)
        remark = left.pop() if left else None
    return tries, remark


def take_back(run_dir: Path, names: Collection[str]) -> list[str]:
    """Take the state of the tasks back to not_yet, without an answer, and return those it changed; their tries stay, as
    does the rest.

    Raises WorkbookError `course.record` where the record is none, `course.busy`, or OSError.
    """
    path = run_dir / NAME
    if not os.path.lexists(path):
        return []
    with hold_lock(path) as locked:
        before = read_record(run_dir)
        blank = {
            name: replace(BLANK, task=name, tries=entry.tries, time=entry.time) for name, entry in before.tasks.items()
        }
        back = [name for name, entry in before.tasks.items() if name in names and entry != blank[name]]
        tasks = {name: _entry_as_json(blank[name] if name in back else entry) for name, entry in before.tasks.items()}
        if back:
            _replace_record(path, before.student, tasks, sweep=locked)
    return back


def _entry_as_json(entry: Entry) -> dict[str, Any]:
    """Return an entry as the file has it: its task is the key."""
    return {key: value for key, value in vars(entry).items() if key != "task"}


def _read_before(run_dir: Path) -> tuple[Record, Sentence | None]:
    try:
        return read_record(run_dir), None
    except WorkbookError as error:
        path = run_dir / NAME
        if path.is_file():
            aside = path.with_suffix(".json.unreadable")  # what was put aside before stays: the next has a number
            others = (aside.with_name(f"{aside.name}.{number}") for number in count(2))
            path.replace(next(candidate for candidate in chain([aside], others) if not candidate.exists()))
        return Record(), Sentence(error.key, **error.arguments)


@cache
def _said_once(folder: Path) -> list[Sentence]:
    return [Sentence("course.no_locks", path=str(folder))]


def _replace_record(path: Path, student: str, tasks: dict[str, Any], *, sweep: bool) -> None:
    """Write the record anew. What a killed process left aside goes: who holds the lock alone writes there."""
    for left in path.parent.glob(f".{path.name}.*.part") if sweep else ():
        left.unlink(missing_ok=True)
    write_file(path, json.dumps({"format": FORMAT, "student": student, "tasks": tasks}, indent=1))
