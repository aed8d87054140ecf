"""`grade`: every submission of a folder, one after the other, into a table; what is graded already is taken over."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import simulator
from helpers.batch.fingerprint import PACKAGE, own_code
from helpers.course.grading.attempt import Grade, Work, grade_one
from helpers.course.grading.limits import Limits
from helpers.course.grading.names import name_of, shown
from helpers.course.grading.sheet import earlier, plain, sheet
from helpers.course.grading.submission import entries, left_out, read
from helpers.course.grading.summary import Beside, report
from helpers.course.grading.tables import names_in
from helpers.course.registry import EXERCISES, tasks_of
from helpers.errors import WorkbookError
from helpers.report import Report
from helpers.storage import open_storage, write_file
from helpers.words import Scalar, language, say

#: A run that ended so says as much of the machine as of the submission: it is made again.
ENDED = ("grading.time", "grading.memory", "grading.processes", "grading.died", "grading.not_judged")


@dataclass(frozen=True)
class Ready:
    """A submission before any is run: its grade where it has one already (`kept`: of an earlier run), or its work."""

    folder: Path
    key: str = ""
    work: Work | None = None
    grade: Grade | None = None
    kept: bool = False


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
    submission that was graded before and has not changed is taken over unless `force`, whatever the language of that
    run. Raises WorkbookError where there is nothing to grade, for a task that there is not, for a `names` that cannot
    be read, for an `out` that is another file or another notebook's table, and where the workbook's code changes
    meanwhile. A submission that is broken has its row; a file that is no submission has a finding.
    """
    lang, told = language(lang), limits or Limits()
    valued = _worth(worth or {}, notebook)
    who, target, work = names_in(names), Path(out), Path(f"{out}.work")
    ours = {path.resolve() for path in (target, work, Path(names or target))}
    found = [path for path in entries(Path(submissions)) if path.resolve() not in ours]
    other = [shown(path) for path in left_out(Path(submissions)) if path.resolve() not in ours]
    before = earlier(target, valued)
    # All are read, and earlier grades taken over, before the first is run: what a run does to files changes neither.
    ready = [_ready(path, who.get(name_of(path), name_of(path)), notebook, work, force) for path in found]
    grades: list[Grade] = []
    for number, (path, each) in enumerate(zip(found, ready), 1):
        tell(say("grading.progress", lang, number=number, of=len(found), name=shown(path)))
        grades.append(each.grade or _graded(each, notebook, lang, cell_timeout_s, told))
        kept = [after.grade for after in ready[number:] if after.grade]  # whoever stops here loses no row of theirs
        write_file(target, sheet([*grades, *kept], valued, lang, partly))
    beside = Beside(
        other, [each.grade.name for each in ready if each.grade and each.kept],
        [name for name in before if plain(name) not in {plain(one.name).strip() for one in grades}],
        [name for name in who if name not in set(map(name_of, found))],
        [shown(path) for path in found if who and name_of(path) not in who],
    )  # fmt: skip
    return report(grades, beside, valued, partly, target)


def _ready(path: Path, student: str, notebook: str, work: Path, force: bool) -> Ready:
    folder = work / _folder_name(shown(path))
    try:
        submission = read(path, notebook)
        made = Work(submission.name, student, submission.digest, submission.cells(), submission.claimed_tries())
    except WorkbookError as error:
        trouble: dict[str, Scalar] = {"say": error.key, "args": error.arguments}
        return Ready(folder, grade=Grade(shown(path), student, "", trouble=trouble))
    key = _key(submission.digest, student, notebook)
    before = None if force else _before(folder, key)
    return Ready(folder, key, made, before, before is not None)


def _graded(ready: Ready, notebook: str, lang: str, cell_s: float, told: Limits) -> Grade:
    assert ready.work
    one = grade_one(ready.work, ready.folder.resolve(), lang, cell_s, told, notebook)
    if own_code.__wrapped__() != own_code():  # the judge is made of it
        raise WorkbookError("grading.changed", name=ready.work.name, path=str(PACKAGE))
    open_storage(str(ready.folder)).write_text("grade.json", json.dumps({"key": ready.key, **one.to_dict()}, indent=1))
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
    """An earlier grade of the same, unless that run was ENDED."""
    try:
        told: dict[str, Any] = json.loads((folder / "grade.json").read_text(encoding="utf-8"))
        same = told.pop("key") == key and (told["trouble"] or {}).get("say") not in ENDED
        return Grade(**told) if same else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _worth(given: Mapping[str, float], notebook: str) -> dict[str, float]:
    known = tasks_of(notebook)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise WorkbookError("course.unknown_task", given=unknown[0], known=list(known))
    return {name: float(given.get(name, 1.0)) for name in known}
