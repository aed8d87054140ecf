"""The command line of `course`."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from course.exercises.listing import exercises
from course.exercises.resetting import reset_exercise
from course.exercises.task import NOTEBOOKS
from course.grading import grade_submissions
from course.grading.classroom import show_class
from course.grading.limits import Limits
from course.packing import pack_zip
from course.packing.solving import write_solved


def run_grade(
    call: partial[Report],
    *,
    points: Sequence[str] = (),
    partly: float = 0,
    timeout: float = 900,
    memory_mib: int = 6144,
    user: str = "",
) -> Report:
    """Grade, within limits."""
    limits = Limits(timeout, memory_mib)
    if user:
        account = _find_user(user)
        limits = replace(limits, user=account.pw_uid, group=account.pw_gid)
    if not 0 <= partly <= 1:
        raise WorkbookError("grading.partly", given=partly)
    return call(worth=dict(_read_worth(text) for text in points), limits=limits)


def _find_user(name: str) -> pwd.struct_passwd:
    if os.geteuid() != 0:
        raise WorkbookError("grading.not_root", user=name)
    try:
        return pwd.getpwnam(name)
    except KeyError as error:
        raise WorkbookError("grading.no_user", user=name) from error


def _read_worth(text: str) -> tuple[str, float]:
    task, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError as error:
        raise WorkbookError("grading.worth", given=text) from error
    if not 0 <= value < 1e6:
        raise WorkbookError("grading.worth", given=text)
    return task, value


FILE, WHICH = Row(metavar="FILE"), tuple(NOTEBOOKS)
GRADE = {
    "submissions": Row(metavar="FOLDER"),
    "out": FILE,
    "notebook": Row(choices=WHICH),
    "points": Row(metavar="TASK=N"),
    "partly": Row(metavar="SHARE"),
    "names": FILE,
    "timeout": Row(metavar="SECONDS"),
    "cell_timeout_s": Row("--cell-timeout", metavar="SECONDS"),
    "memory_mib": Row(metavar="N"),
    "user": Row(metavar="NAME"),
    "worth": None,
    "limits": None,
}
RUN_DIR = Row(metavar="DIR")
ACTIONS = {
    "list": Verb(exercises, {"run_dir": RUN_DIR}),
    "reset": Verb(reset_exercise, {"exercise": Row(metavar="EXERCISE"), "notebook": FILE, "run_dir": RUN_DIR}),
    "grade": Verb(grade_submissions, GRADE, run_grade),
    "class": Verb(show_class, {"grades": FILE, "out": FILE}),
    "solve": Verb(write_solved, {"notebook": Row("notebook", nargs="?", choices=WHICH), "out": FILE}),
    "pack": Verb(pack_zip, {"out": FILE}),
}
VERB = Verb(actions=ACTIONS, examples=Path(__file__).with_name("examples.txt").read_text(encoding="utf-8"))
