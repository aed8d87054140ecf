"""One submission from its bytes to its grade: run the cells, take the answers, judge them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.project import ROOT, RUNS
from course.exercises.checking import COLLECT
from course.exercises.data import NoData, as_data
from course.exercises.listing import tasks_of
from course.exercises.outcome import NOT_YET
from course.exercises.record import NAME as RECORD
from course.exercises.record import read_record
from course.exercises.running import GRADING
from course.exercises.task import CAPSTONE, CAPSTONE_FOLDER, EXERCISES
from course.grading import limits, view
from course.grading.child import CELL_CUT
from course.grading.judging import KEY_BYTES, read_verdict
from course.grading.limits import Ended, Limits
from course.grading.submission import compose_name, describe_inside, make_printable, same_person

CHILD = Path(__file__).with_name("child.py")
#: What of this process's environment goes along: where CANN and the libraries are, and nothing that may be a secret.
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "TZ")
KEPT_BEGINNINGS = ("ASCEND_", "HCCL_")
#: Bytes of a line of the judge's.
LONGEST_LINE = 1 << 16
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Grade:
    """What a submission came to: task -> status and tries; `trouble` is a sentence: what kept it from more.

    unnamed: it was worked without a name, so its questions were everybody's. code: of its cells, a hash. guard: what
    enclosed it; tried: what it would have changed outside its folder; sends: packets that had no way out.
    """

    name: str
    student: str
    digest: str
    status: dict[str, str] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    trouble: Sentence | None = None
    unnamed: bool = False
    code: str = ""
    guard: str = ""
    tried: tuple[str, ...] = ()
    sends: int = 0


@dataclass(frozen=True)
class Work:
    """What is needed of a submission to grade it: whose it is, its code cells, and the tries that its record claims."""

    name: str
    student: str
    digest: str
    cells: list[dict[str, Any]]
    tries: dict[str, int] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """Return a digest of the code: outputs, prose and the values of the parameters are not in it."""
        sources = [cell["source"] for cell in self.cells if "parameters" not in cell["tags"]]
        return hashlib.sha256(json.dumps(sources).encode()).hexdigest()[:16]


def grade_one(
    work: Work,
    folder: Path,
    lang: str,
    cell_timeout_s: float,
    limits_set: Limits,
    notebook: str = EXERCISES,
    private: Sequence[Path] = (),
) -> Grade:
    """Run the work in `folder`, made anew, and judge what it answered to `notebook` under its student's name.

    private: what of this machine is no student's to see, beside the solutions and what judges.
    """
    home, package = _make_folder(folder) / "home", folder / "package"
    (home / "tmp").mkdir(parents=True)
    view.write_package(package)
    plan = {
        "cells": work.cells,
        "cell_timeout_s": cell_timeout_s,
        "notebook": str(home / "executed.ipynb"),
        "parameters": {"run_dir": str(home / "run"), "lang": lang},
    }
    child = package / CHILD.name
    child.write_bytes(CHILD.read_bytes())
    child.chmod(0o644)
    hidden = view.list_hidden(private, [home, package], judge=False)
    env = {**_make_environment(home, package), COLLECT: "1"}
    with _hand_over(home, plan, limits_set) as path:
        command = [sys.executable, str(child), path]
        ran = limits.run_limited(command, env, home, folder / "run.log", limits_set, hidden=hidden)
    result_folder = home / "run" / CAPSTONE_FOLDER if notebook == CAPSTONE else home / "run"
    left = _read_answers(result_folder, home, work.student)
    judged, judging = _judge_answers(folder, notebook, left, limits_set, private) if left.answers else ({}, None)
    status = {name: judged[name]["status"] if name in judged else NOT_YET for name in tasks_of(notebook)}
    tries = {name: work.tries[name] for name in status if name in work.tries}
    seconds = round(ran.seconds + (judging.seconds if judging else 0.0), 1)
    cut = Sentence("grading.cell_time", seconds=cell_timeout_s) if (ran.code, ran.cut) == (CELL_CUT, "") else None
    trouble = (
        (None if cut else _describe_stop(ran, limits_set))
        or (None if cut and not left.answers else left.trouble)
        or (_describe_stop(judging, limits_set) if judging else None)
        or _find_broken(judged)
        or cut
    )
    whose, unnamed = (work.name, left.student, work.digest), bool(left.answers) and left.questions == ""
    enclosed = (ran.guard, ran.tried, ran.refused_sends)
    return Grade(*whose, status, tries, seconds, trouble, unnamed, work.code, *enclosed)


def _make_folder(folder: Path) -> Path:
    """Make the folder without anything of an earlier run; what that one had closed to its owner is opened first."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        folder.chmod(0o700)
        for root, folders, _ in os.walk(folder):
            for path in (Path(root, name) for name in folders):
                if not path.is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


@contextlib.contextmanager
def _hand_over(home: Path, plan: Mapping[str, object], limits_set: Limits) -> Iterator[str]:
    """Write the list of cells or answers into the folder, and give that to the other user where there is one.

    In the end the list goes, a student's words that nobody asks for, and whatever he put in its place.
    """
    place = home / "plan.json"
    place.write_text(json.dumps(plan), encoding="utf-8")
    if limits_set.user is not None:
        home.parent.chmod(0o755)  # what holds the folder lets that user through
        for path in [home, *home.rglob("*")]:
            os.chown(path, limits_set.user, limits_set.group if limits_set.group is not None else -1)
        home.chmod(0o700)
    try:
        yield str(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        with contextlib.suppress(OSError):
            place.unlink()


def _make_environment(home: Path, *first: Path) -> dict[str, str]:
    passed_on = {name: text for name, text in os.environ.items() if name in KEPT or name.startswith(KEPT_BEGINNINGS)}
    passed_on.pop("ASCEND_WORKBOOK_MIRROR", None)  # an index's address may hold a password
    paths = os.pathsep.join(filter(None, (*map(str, first), str(ROOT), os.environ.get("PYTHONPATH"))))
    return {
        **passed_on,
        **ONE_THREAD,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        RUNS: str(home),
        "PYTHONPATH": paths,
        "ASCEND_WORKBOOK_HEADLESS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "Agg",
    }


@dataclass(frozen=True)
class Left:
    """What a run left: its answers, whose it is, the name whose questions they answer, and what is wrong with it."""

    student: str
    answers: Mapping[str, object] = field(default_factory=dict)
    questions: str = ""
    trouble: Sentence | None = None


def _read_answers(run: Path, home: Path, student: str) -> Left:
    """Return the answers; who worked under another's name is judged by the questions of their own."""
    if any(path.is_symlink() for path in (run / RECORD, run, home / "run")):
        return Left(student, trouble=Sentence("grading.link", path=describe_inside(RECORD)))
    try:
        record = read_record(run)
    except WorkbookError as error:
        why = {name: make_printable(arg) if isinstance(arg, str) else arg for name, arg in error.arguments.items()}
        return Left(student, trouble=Sentence(error.key, **why))
    answers = {name: entry.answer for name, entry in record.tasks.items() if _is_answer(entry.answer)}
    if not record.tasks:
        return Left(student, trouble=Sentence("grading.no_answers"))
    if record.student in ("", student):
        return Left(student, answers, record.student)
    if same_person(record.student, student):  # the questions are drawn from the name as it stands in the notebook
        return Left(compose_name(record.student), answers, record.student)
    facts: dict[str, Scalar] = {"declared": make_printable(record.student[:80]), "name": student}
    return Left(student, answers, student, Sentence("grading.other_name", **facts))


def _is_answer(answer: object) -> bool:
    """Return whether it is what the notebook's checker writes; a record written by hand may hold anything."""
    try:
        return as_data(answer) is not None
    except NoData:
        return False


def _judge_answers(
    folder: Path, notebook: str, left: Left, limits_set: Limits, private: Sequence[Path] = ()
) -> tuple[dict[str, Any], Ended]:
    """Return each task with what the judge tells of it in a new folder, and how the judging child ended.

    Its lines are signed with a key that no file and no environment holds: what a judged script prints is none. Nor can
    one read the key where `limits_set.user` is another than this process's: this one has it too.
    """
    home = _make_folder(folder / "judging")
    (home / "tmp").mkdir()
    plan = {"notebook": notebook, "student": left.questions, "answers": left.answers, "folder": str(home / "tasks")}
    log, key = folder / "judging.log", secrets.token_bytes(KEY_BYTES)
    log.unlink(missing_ok=True)
    hidden, env = view.list_hidden(private, [home], judge=True), {**_make_environment(home), GRADING: "1"}
    with _hand_over(home, plan, limits_set) as path:
        command = [sys.executable, "-m", "course.grading.judging", path]
        ended = limits.run_limited(command, env, home, log, limits_set, hidden=hidden, sent=key)
    verdicts: dict[str, Any] = {}
    with log.open("rb") as stream:
        for line in iter(lambda: stream.readline(LONGEST_LINE), b""):
            judged = read_verdict(line, key)
            if judged:
                verdicts.setdefault(str(judged["task"]), judged)
    return verdicts, ended


def _find_broken(judged: Mapping[str, Any]) -> Sentence | None:
    """Return the first task whose check could not judge: its status is no word on the answer."""
    broken = ((task, verdict["broke"]) for task, verdict in judged.items() if verdict["broke"])
    return next((Sentence("grading.not_judged", task=task, why=why) for task, why in broken), None)


def _describe_stop(ended: Ended, limits_set: Limits) -> Sentence | None:
    mib = {"memory": limits_set.memory_mib, "disk": limits_set.disk_mib}
    if ended.cut == "time":
        return Sentence("grading.time", seconds=limits_set.seconds)
    if ended.cut == "processes":
        return Sentence("grading.processes", most=limits_set.processes)
    if ended.cut in mib:
        return Sentence(f"grading.{ended.cut}", mib=mib[ended.cut])
    return Sentence("grading.died", code=ended.code) if ended.code else None
