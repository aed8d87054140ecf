"""`check_task`: one answer judged, shown and recorded. Whatever the answer is, a run of all cells goes on."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers.course import record
from helpers.course.asking import ask
from helpers.course.data import NoData, as_data
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
    value, trouble = _data(*ask(answer))
    stub = trouble is not None and trouble["say"] in ("course.trouble.stub", "course.trouble.none")
    if trouble or os.environ.get(COLLECT) == "1":
        found = Found(missing=(trouble or sentence("course.collected"),))
    else:
        found = judge(chosen, value, base / "course" / chosen.id, student)
    outcome = Outcome(chosen.id, status_of(found), found.right, found.missing, simulated=found.simulated)
    kept = _kept(base, student, outcome, value, counts=not stub)
    return replace(outcome, tries=kept.tries, remark=kept.remark)


def _data(answer: Any, trouble: Sentence | None) -> tuple[Any, Sentence | None]:
    """What is judged is what is kept."""
    try:
        return as_data(answer), trouble
    except NoData as error:
        return None, trouble or error.why
    except Exception as error:  # noqa: BLE001 - an object of the student's own, whatever it does when it is read
        return None, trouble or sentence("course.trouble.raised", error=f"{type(error).__name__}: {error}"[:300])


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


def _kept(base: Path, student: str, outcome: Outcome, answer: Any, *, counts: bool) -> record.Kept:
    try:
        return record.keep(base, student, outcome, answer, counts=counts)
    except WorkbookError as error:
        return record.Kept(int(counts), {"say": error.key, "args": error.arguments})
    except OSError as error:
        why = sentence("course.not_recorded", path=str(base / record.NAME), why=reason(error))
        return record.Kept(int(counts), why)
