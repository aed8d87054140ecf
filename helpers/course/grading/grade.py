"""`grade`: every submission of a folder, one after the other, into a table; what is graded already is taken over."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from helpers import simulator
from helpers.batch.fingerprint import own_code
from helpers.course.grading.attempt import Grade, grade_one
from helpers.course.grading.limits import Limits
from helpers.course.grading.sheet import sheet
from helpers.course.grading.submission import entries, left_out, name_of, read
from helpers.course.grading.summary import report
from helpers.course.registry import EXERCISES, tasks_of
from helpers.errors import WorkbookError
from helpers.report import Report
from helpers.storage import open_storage
from helpers.words import language, say


def grade(
    submissions: str | os.PathLike[str],
    out: str | os.PathLike[str] = "grades.csv",
    *,
    notebook: str = EXERCISES,
    worth: Mapping[str, float] | None = None,
    partly: float = 0.0,
    names: str | os.PathLike[str] = "",
    limits: Limits | None = None,
    cell_timeout_s: float = 180.0,
    force: bool = False,
    lang: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Report:
    """Grades what lies in `submissions` into the CSV `out`; runs are kept in the folder `out`.work beside it.

    notebook: `exercises`, or `capstone`, whose four stages are judged in their order. worth: points of a task (default
    1 each); partly: the share of them for a task that is partly right. names: a CSV of two columns, submission and
    student; else a submission is its student's name. limits: of each submission; each cell has `cell_timeout_s`. A
    submission that was graded before and has not changed is taken over unless `force`. Raises WorkbookError where there
    is nothing to grade, for a task that there is not, and for a `names` that cannot be read. A submission that is
    broken has its row; a file that is no submission has a finding.
    """
    lang, told = language(lang), limits or Limits()
    valued = _worth(worth or {}, notebook)
    who, target, work = _names(names), Path(out), Path(f"{out}.work")
    ours = {path.resolve() for path in (target, work, Path(names or target))}
    found = [path for path in entries(Path(submissions)) if path.resolve() not in ours]
    other = [path.name for path in left_out(Path(submissions)) if path.resolve() not in ours]
    grades: list[Grade] = []
    for number, path in enumerate(found, 1):
        tell(say("grading.progress", lang, number=number, of=len(found), name=path.name))
        one = _graded(path, who.get(name_of(path), name_of(path)), notebook, work, lang, cell_timeout_s, told, force)
        grades.append(one)
        open_storage(str(target.resolve().parent)).write_text(target.name, sheet(grades, valued, lang, partly))
    return report(grades, other, valued, partly, target)


def _graded(
    path: Path, student: str, notebook: str, work: Path, lang: str, cell_s: float, told: Limits, force: bool
) -> Grade:
    folder = work / _folder_name(path.name)
    try:
        submission = read(path, notebook)
        key = _key(submission.digest, student, notebook)
        before = None if force else _before(folder, key)
        if before is not None:
            return before
        one = grade_one(submission, student, folder.resolve(), lang, cell_s, told, notebook)
    except WorkbookError as error:
        return Grade(path.name, student, "", trouble={"say": error.key, "args": error.arguments})
    open_storage(str(folder)).write_text("grade.json", json.dumps({"key": key, **one.to_dict()}, indent=1))
    return one


def _folder_name(name: str) -> str:
    """No two names share a folder, and none leads out of it."""
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:60].lstrip('.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _key(digest: str, student: str, notebook: str) -> str:
    """Of the submission, the name it is judged under, the notebook's tasks, the workbook's code, and the simulated NPU:
    where none was built no answer that needs one is right."""
    built = simulator.location() / "version.cfg"
    stamp = built.read_bytes() if built.is_file() else b""
    return hashlib.sha256(f"{digest}\0{student}\0{notebook}\0{own_code()}\0".encode() + stamp).hexdigest()[:16]


def _before(folder: Path, key: str) -> Grade | None:
    """An earlier grade of the same; one that a limit cut short is made again."""
    try:
        told: dict[str, Any] = json.loads((folder / "grade.json").read_text(encoding="utf-8"))
        same = told.pop("key") == key and (told["trouble"] or {}).get("say") not in ("grading.time", "grading.memory")
        return Grade(**told) if same else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _worth(given: Mapping[str, float], notebook: str) -> dict[str, float]:
    known = tasks_of(notebook)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise WorkbookError("course.unknown_task", given=unknown[0], known=list(known))
    return {name: float(given.get(name, 1.0)) for name in known}


def _names(path: str | os.PathLike[str]) -> dict[str, str]:
    """Submission -> student."""
    if not path:
        return {}
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row]
    short = [number for number, row in enumerate(rows, 1) if len(row) < 2]
    if short:
        raise WorkbookError("grading.names", path=str(path), line=short[0])
    return {row[0].strip(): row[1].strip() for row in rows}
