"""`check_task`: one answer judged, shown and recorded. Whatever the answer is, a run of all cells goes on."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.project import ROOT
from course.exercises.data import NoData, as_data
from course.exercises.outcome import DONE, NOT_YET, PARTLY, Outcome
from course.exercises.patience import patient_limit
from course.exercises.record import NAME as RECORD
from course.exercises.record import keep_outcome
from course.exercises.task import Found, Place, Task
from course.exercises.task import find_task as task_named

SECONDS = 10.0
#: More than this printed by an answer is cut off, and is no answer.
PRINTED = 100_000


class _Stopped(BaseException):
    """Not an Exception: a student's `except Exception` shall not keep it."""

    def __init__(self, why: Sentence) -> None:
        super().__init__()
        self.why = why


class _Limited(io.StringIO):
    """A standard output that ends whoever writes without end."""

    def write(self, text: str) -> int:
        if self.tell() + len(text) > PRINTED:
            raise _Stopped(Sentence("course.trouble.printed", characters=PRINTED))
        return super().write(text)


def resolve_answer(answer: object, seconds: float | None = None) -> tuple[object, Sentence | None]:
    """Return (the answer, None), or (None, why there is none). An answer that is None is no answer."""
    if callable(answer):
        answer, trouble = _call_answer(answer, patient_limit(SECONDS) if seconds is None else seconds)
        if trouble:
            return None, trouble
    return answer, Sentence("course.trouble.none") if answer is None else None


def _call_answer(function: Any, seconds: float) -> tuple[Any, Sentence | None]:
    try:
        with _limit_time(seconds), contextlib.redirect_stdout(_Limited()):
            return function(), None
    except _Stopped as stopped:
        return None, stopped.why
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the student's code: whatever it raises is told
        if isinstance(error, NotImplementedError) and not error.args:  # with words it is an operator that is not there
            return None, Sentence("course.trouble.stub")
        return None, Sentence("course.trouble.raised", error=f"{type(error).__name__}: {error}"[:300])


@contextlib.contextmanager
def _limit_time(seconds: float) -> Iterator[None]:
    """End what runs too long; only a main thread can be interrupted, others run as long as they run."""

    def raise_stopped(*_: object) -> None:
        raise _Stopped(Sentence("course.trouble.slow", seconds=seconds))

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, raise_stopped)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


#: 1 where somebody else judges: answers are recorded, and not judged here.
COLLECT = "ASCEND_WORKBOOK_COLLECT_ANSWERS"


def check_task(
    name: str | Task, answer: object = None, *, run_dir: str | os.PathLike[str] = "runs/notebook", student: str = ""
) -> Outcome:
    """Judge the answer to a task, or to the exercise of this name: plain data, or a function without arguments for it.

    Shown by the notebook, and kept in `<run_dir>/course.json`. An answer that raises, hangs or is of another kind is
    not_yet with the reason. Raises WorkbookError `course.unknown_task` for a task that there is not.
    """
    chosen, base = name if isinstance(name, Task) else task_named(name), ROOT / Path(run_dir).expanduser()
    value, trouble = resolve_answer(answer)
    try:
        value = as_data(value)  # what is judged is what is recorded
    except NoData as error:
        value, trouble = None, trouble or error.why
    except Exception as error:  # noqa: BLE001 - an object of the student's own, whatever it does when it is read
        raised = Sentence("course.trouble.raised", error=f"{type(error).__name__}: {error}"[:300])
        value, trouble = None, trouble or raised
    stub = trouble is not None and trouble["say"] in ("course.trouble.stub", "course.trouble.none")
    if trouble or os.environ.get(COLLECT) == "1":
        judged = Found(missing=(trouble or Sentence("course.collected"),))
    else:
        judged = judge_answer(chosen, value, base / "course" / chosen.id, student)
    outcome = Outcome(chosen.id, status_of(judged), judged.right, judged.missing, simulated=judged.simulated)
    tries, remark = int(not stub), None
    try:
        tries, remark = keep_outcome(base, student, outcome, value, counts=not stub)
    except WorkbookError as error:
        remark = Sentence(error.key, **error.arguments)
    except OSError as error:
        remark = Sentence("course.not_recorded", path=str(base / RECORD), why=explain_os_error(error))
    return replace(outcome, tries=tries, remark=remark)


def judge_answer(chosen: Task, answer: object, folder: Path, student: str) -> Found:
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
