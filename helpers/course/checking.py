"""`check_task`: one answer judged, shown and recorded. Whatever the answer is, a run of all cells goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from helpers.course import record
from helpers.course.asking import ask
from helpers.course.outcome import DONE, NOT_YET, PARTLY, Outcome
from helpers.course.registry import task as task_named
from helpers.course.task import Found, Place, Sentence, Task, sentence
from helpers.errors import WorkbookError, reason
from helpers.notebook import ROOT

#: 1 where somebody else judges: answers are recorded, and not judged here.
COLLECT = "ASCEND_WORKBOOK_COLLECT_ANSWERS"


def check_task(
    name: str | Task, answer: Any = None, *, run_dir: str | os.PathLike[str] = "runs/notebook", student: str = ""
) -> Outcome:
    """Judges the answer to the task, or to the exercise of this name: plain data, or a function without arguments that
    returns it.

    Shown by the notebook, and kept in `<run_dir>/course.json`. An answer that raises, hangs or is of another kind is
    not_yet with the reason. Raises WorkbookError `course.unknown_task` for a task that there is not.
    """
    chosen, base = name if isinstance(name, Task) else task_named(name), _base(run_dir)
    before, unreadable = _tries(base, student, chosen.id)
    value, trouble = ask(answer)
    stub = trouble is not None and trouble["say"] in ("course.trouble.stub", "course.trouble.none")
    if trouble or os.environ.get(COLLECT) == "1":
        found = Found(missing=(trouble or sentence("course.collected"),))
    else:
        found = judge(chosen, value, base / "course" / chosen.id, student)
    outcome = Outcome(chosen.id, status_of(found), found.right, found.missing, before + (not stub), found.simulated)
    remark = _record(base, student, outcome, value, unreadable)
    return Outcome(**{**vars(outcome), "remark": remark})


def judge(chosen: Task, answer: Any, folder: Path, student: str) -> Found:
    """What the task's check finds; a check that breaks over the answer says so, and nothing is right."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return chosen.check(answer, Place(folder, student))
    except WorkbookError as error:
        return Found(missing=({"say": error.key, "args": error.arguments},))
    except Exception as error:  # noqa: BLE001 - any answer may come; none stops the notebook
        return Found(missing=(sentence("course.trouble.check", error=f"{type(error).__name__}: {error}"[:300]),))


def status_of(found: Found) -> str:
    """Done where nothing is missing and something is right."""
    if found.right:
        return PARTLY if found.missing else DONE
    return NOT_YET


def _base(run_dir: str | os.PathLike[str]) -> Path:
    given = Path(run_dir).expanduser()
    return given if given.is_absolute() else ROOT / given


def _tries(base: Path, student: str, name: str) -> tuple[int, Sentence | None]:
    """Answers so far; a record that cannot be read is put aside, and said."""
    try:
        kept = record.read_record(base)
    except WorkbookError as error:
        path = base / record.NAME
        if path.is_file():
            path.replace(path.with_suffix(".json.unreadable"))
        return 0, {"say": error.key, "args": error.arguments}
    entry = kept.tasks.get(name) if kept.student == student else None
    return (entry.tries if entry else 0), None


def _record(base: Path, student: str, outcome: Outcome, answer: Any, unreadable: Sentence | None) -> Sentence | None:
    try:
        record.write(base, student, outcome, answer)
    except WorkbookError as error:
        return {"say": error.key, "args": error.arguments}
    except OSError as error:
        return sentence("course.not_recorded", path=str(base / record.NAME), why=reason(error))
    return unreadable
