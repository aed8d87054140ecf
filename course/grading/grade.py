"""`grade_submissions`: every submission of a folder, one after the other, into a table.

What is graded already is taken over.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ascend_workbook.batch.fingerprint import ROOT as CODE
from ascend_workbook.batch.fingerprint import own_code
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence, choose_language, restore_sentence, say
from ascend_workbook.machine import simulator
from ascend_workbook.machine.launch.enclosed import announce_guard
from ascend_workbook.machine.sandbox import find_guard
from ascend_workbook.storage import open_storage, write_file
from course.exercises.editing import SCRIPTS
from course.exercises.listing import tasks_of
from course.exercises.task import EXERCISES
from course.grading.attempt import Grade, Work, grade_one
from course.grading.limits import Limits, can_be_another, limit_as_own_user
from course.grading.sheet import earlier_submissions, make_plain, names_in, write_sheet
from course.grading.submission import cells_of, left_out, list_submissions, name_as_text, name_of, read_submission
from course.grading.summary import Beside, make_report

#: A run that ended so says as much of the machine as of the submission: it is made again.
ENDED = tuple(f"grading.{why}" for why in ("time", "memory", "processes", "disk", "died", "not_judged", "cell_time"))
#: So does one whose enclosure could not be made, or left no account.
ENDED += ("sandbox.not_made", "sandbox.no_account")

#: What runs a submission's cells, and what they compute with.
PACKAGES = ("torch", "torch_npu", "numpy", "nbclient", "ipykernel")


@dataclass(frozen=True)
class Ready:
    """A submission before any is run: its grade where it has one already (`kept`: of an earlier run), or its work."""

    folder: Path
    key: str = ""
    work: Work | None = None
    grade: Grade | None = None
    kept: bool = False


def grade_submissions(
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
    """Grade what lies in `submissions` into the CSV `out`; runs are kept in the folder `out`.work beside it.

    notebook: `exercises`, or `capstone`, whose four stages are judged in their order. worth: points of a task (default
    1 each); partly: the share of them for a task that is partly right. names: a CSV of two columns, submission and
    student; else a submission is its student's name. limits: of each submission; each cell has `cell_timeout_s`. A
    submission that was graded before and has not changed is taken over unless `force`, whatever the language of that
    run. Raises WorkbookError where there is nothing to grade, for a task that there is not, for a `names` that cannot
    be read, for an `out` that is another file or another notebook's table, and where the workbook's code changes
    meanwhile. A submission that is broken has its row; a file that is no submission has a finding.
    """
    lang, limits_set = choose_language(lang), limits or Limits()
    valued = _read_worth(worth or {}, notebook)
    who, target, work = names_in(names), Path(out), Path(f"{out}.work")
    ours = {path.resolve() for path in (target, work, Path(names or target))}
    submissions_there = [path for path in list_submissions(Path(submissions)) if path.resolve() not in ours]
    other = [name_as_text(path) for path in left_out(Path(submissions)) if path.resolve() not in ours]
    before = earlier_submissions(target, valued)
    private = [Path(submissions), target, work, *([Path(names)] if names else [])]
    # All are read, and earlier grades taken over, before the first is run: what a run does to files changes neither.
    prepared = [
        _prepare_submission(path, who.get(name_of(path), name_of(path)), notebook, work, force, cell_timeout_s)
        for path in submissions_there
    ]
    todo = any(work_ready.grade is None for work_ready in prepared)
    own_users = todo and limits_set.user is None and os.geteuid() == 0 and can_be_another(work, dict(os.environ))
    guard = announce_guard(find_guard(), copied=True) if todo else None
    if guard is not None:
        tell(say(guard.key, lang, **guard.args))
    grades: list[Grade] = []
    for number, (path, work_ready) in enumerate(zip(submissions_there, prepared), 1):
        tell(say("grading.progress", lang, number=number, of=len(submissions_there), name=name_as_text(path)))
        held = limit_as_own_user(limits_set, number) if own_users else limits_set
        grades.append(work_ready.grade or _grade_ready(work_ready, notebook, lang, cell_timeout_s, held, private))
        # whoever stops here loses no row of theirs
        remaining = [after.grade for after in prepared[number:] if after.grade]
        write_file(target, write_sheet([*grades, *remaining], valued, lang, partly))
    beside = Beside(
        other,
        [work_ready.grade.name for work_ready in prepared if work_ready.grade and work_ready.kept],
        [name for name in before if make_plain(name) not in {make_plain(graded.name).strip() for graded in grades}],
        [name for name in who if name not in set(map(name_of, submissions_there))],
        [name_as_text(path) for path in submissions_there if who and name_of(path) not in who],
        as_root=todo and limits_set.user is None and os.geteuid() == 0 and not own_users,
    )
    return make_report(grades, beside, valued, partly, target)


def _prepare_submission(path: Path, student: str, notebook: str, work: Path, force: bool, cell_s: float) -> Ready:
    name = name_as_text(path)  # of the folder's name: no two share it, and it leads nowhere else
    safe, digest = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:60].lstrip("."), hashlib.sha256(name.encode()).hexdigest()
    folder = work / f"{safe}-{digest[:8]}"
    try:
        submission = read_submission(path, notebook)
        cells, tries = cells_of(submission.notebook, submission.inside), submission.claimed_tries()
        work_made = Work(submission.name, student, submission.digest, cells, tries)
    except WorkbookError as error:
        trouble = Sentence(error.key, **error.arguments)
        return Ready(folder, grade=Grade(name, student, "", trouble=trouble))
    key = _make_key(submission.digest, student, notebook, cell_s)
    before = None if force else _before(folder, key)
    return Ready(folder, key, work_made, before, before is not None)


def _grade_ready(
    ready: Ready, notebook: str, lang: str, cell_s: float, limits_set: Limits, private: Sequence[Path]
) -> Grade:
    assert ready.work
    work = ready.work
    try:
        result = grade_one(work, ready.folder.resolve(), lang, cell_s, limits_set, notebook, private)
    except WorkbookError as error:  # its enclosure is its own: the next one is graded
        result = Grade(work.name, work.student, work.digest, trouble=Sentence(error.key, **error.arguments))
    if own_code.__wrapped__() != own_code():  # the judge is made of it
        raise WorkbookError("grading.changed", name=ready.work.name, path=str(CODE))
    open_storage(str(ready.folder)).write_text("grade.json", json.dumps({"key": ready.key, **asdict(result)}, indent=1))
    return result


def _make_key(digest: str, student: str, notebook: str, cell_s: float) -> str:
    """Return a digest of the submission, its student, the notebook and what a grade rests on: a cell's time, the
    workbook's code, the scripts of the notebooks, the versions of PACKAGES and the simulated NPU."""
    built = simulator.simulator_location() / "version.cfg" if simulator.is_installed() else None
    stamp = built.read_bytes() if built and built.is_file() else b""
    scripts = sorted(path for place in (SCRIPTS, SCRIPTS.parents[1] / "scripts") for path in place.rglob("*.py"))
    hashes = [hashlib.sha256(data).hexdigest() for data in (stamp, *(path.read_bytes() for path in scripts))]
    versions = (f"{name} {package.version}" for name in PACKAGES for package in metadata.distributions(name=name))
    parts = (digest, student, notebook, f"{cell_s:g}", own_code(), *versions, *map(str, scripts), *hashes)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _before(folder: Path, key: str) -> Grade | None:
    """Return an earlier grade of the same submission, unless that run was ENDED."""
    try:
        stored: dict[str, Any] = json.loads((folder / "grade.json").read_text(encoding="utf-8"))
        same = stored.pop("key") == key and (stored["trouble"] or {}).get("say") not in ENDED
        fields = {**stored, "trouble": restore_sentence(stored["trouble"]), "tried": tuple(stored["tried"])}
        return Grade(**fields) if same else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _read_worth(points_given: Mapping[str, float], notebook: str) -> dict[str, float]:
    known = tasks_of(notebook)
    unknown = [name for name in points_given if name not in known]
    if unknown:
        raise WorkbookError("course.unknown_task", given=unknown[0], known=list(known))
    return {name: float(points_given.get(name, 1.0)) for name in known}
