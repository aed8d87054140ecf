"""`check_task`: one answer judged, shown and recorded. Whatever the answer is, a run of all cells goes on."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.project import ROOT
from course import record
from course.asking import resolve_answer
from course.data import NoData, as_data
from course.outcome import DONE, NOT_YET, PARTLY, Outcome
from course.registry import find_task as task_named
from course.task import Found, Place, Task

#: 1 where somebody else judges: answers are recorded, and not judged here.
COLLECT = "ASCEND_WORKBOOK_COLLECT_ANSWERS"


def check_task(
    name: str | Task, answer: Any = None, *, run_dir: str | os.PathLike[str] = "runs/notebook", student: str = ""
) -> Outcome:
    """Judge the answer to the task, or to the exercise of this name: plain data, or a function without arguments that
    returns it.

    Shown by the notebook, and kept in `<run_dir>/course.json`. An answer that raises, hangs or is of another kind is
    not_yet with the reason. Raises WorkbookError `course.unknown_task` for a task that there is not.
    """
    chosen, base = name if isinstance(name, Task) else task_named(name), _base_folder(run_dir)
    value, trouble = _answer_as_data(*resolve_answer(answer))
    stub = trouble is not None and trouble["say"] in ("course.trouble.stub", "course.trouble.none")
    if trouble or os.environ.get(COLLECT) == "1":
        judged = Found(missing=(trouble or Sentence("course.collected"),))
    else:
        judged = judge_answer(chosen, value, base / "course" / chosen.id, student)
    outcome = Outcome(chosen.id, status_of(judged), judged.right, judged.missing, simulated=judged.simulated)
    record_entry = _keep_outcome(base, student, outcome, value, counts=not stub)
    return replace(outcome, tries=record_entry.tries, remark=record_entry.remark)


def _answer_as_data(answer: Any, trouble: Sentence | None) -> tuple[Any, Sentence | None]:
    """Return the answer as plain data: what is judged is what is recorded."""
    try:
        return as_data(answer), trouble
    except NoData as error:
        return None, trouble or error.why
    except Exception as error:  # noqa: BLE001 - an object of the student's own, whatever it does when it is read
        return None, trouble or Sentence("course.trouble.raised", error=f"{type(error).__name__}: {error}"[:300])


def judge_answer(chosen: Task, answer: Any, folder: Path, student: str) -> Found:
    """Return what the task's check finds; a check that breaks over the answer says so, and nothing is right."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return chosen.check(answer, Place(folder, student))
    except WorkbookError as error:
        return Found(missing=(Sentence(error.key, **error.arguments),))
    except Exception as error:  # noqa: BLE001 - any answer may come; none stops the notebook
        return Found(missing=(Sentence("course.trouble.check", error=f"{type(error).__name__}: {error}"[:300]),))


def status_of(judged: Found) -> str:
    """Return the status, which is done where nothing is missing and something is right."""
    if judged.right:
        return PARTLY if judged.missing else DONE
    return NOT_YET


def _base_folder(run_dir: str | os.PathLike[str]) -> Path:
    folder = Path(run_dir).expanduser()
    return folder if folder.is_absolute() else ROOT / folder


def _keep_outcome(base: Path, student: str, outcome: Outcome, answer: Any, *, counts: bool) -> record.Kept:
    try:
        return record.keep_outcome(base, student, outcome, answer, counts=counts)
    except WorkbookError as error:
        return record.Kept(int(counts), Sentence(error.key, **error.arguments))
    except OSError as error:
        why = Sentence("course.not_recorded", path=str(base / record.NAME), why=explain_os_error(error))
        return record.Kept(int(counts), why)
