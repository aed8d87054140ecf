"""One submission from its bytes to its grade: run the cells, take the answers, judge them."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from helpers.course.checking import COLLECT
from helpers.course.data import NoData, as_data
from helpers.course.grading import limits
from helpers.course.grading.judging import KEY_BYTES, verdict
from helpers.course.grading.limits import Ended, Limits
from helpers.course.grading.names import composed, inside, printable, same_person
from helpers.course.outcome import NOT_YET
from helpers.course.record import NAME as RECORD
from helpers.course.record import read_record
from helpers.course.registry import CAPSTONE, CAPSTONE_FOLDER, EXERCISES, tasks_of
from helpers.errors import WorkbookError
from helpers.notebook import ROOT, RUNS
from helpers.words import Scalar

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

    unnamed: it was worked without a name, so its questions were everybody's. code: of its cells, a hash.
    """

    name: str
    student: str
    digest: str
    status: dict[str, str] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    trouble: dict[str, Scalar] | None = None
    unnamed: bool = False
    code: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


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
        """The same for two that differ in their outputs, their prose and the values of their parameters."""
        sources = [each["source"] for each in self.cells if "parameters" not in each["tags"]]
        return hashlib.sha256(json.dumps(sources).encode()).hexdigest()[:16]


def grade_one(
    work: Work, folder: Path, lang: str, cell_timeout_s: float, told: Limits, notebook: str = EXERCISES
) -> Grade:
    """Runs it in `folder`, made anew, and judges what it answered to `notebook` under its student's name."""
    home = _new(folder) / "home"
    (home / "tmp").mkdir(parents=True)
    plan = {"cells": work.cells, "cell_timeout_s": cell_timeout_s,
            "notebook": str(home / "executed.ipynb"),
            "parameters": {"run_dir": str(home / "run"), "lang": lang}}  # fmt: skip
    (home / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    _hand_over(home, told)
    command = [sys.executable, str(CHILD), str(home / "plan.json")]
    ran = limits.run(command, {**_environment(home), COLLECT: "1"}, home, folder / "run.log", told)
    kept = home / "run" / CAPSTONE_FOLDER if notebook == CAPSTONE else home / "run"
    left = _answers(kept, home, work.student)
    judged, judging = _judge(folder, notebook, left, told) if left.answers else ({}, None)
    status = {name: judged[name]["status"] if name in judged else NOT_YET for name in tasks_of(notebook)}
    tries = {name: work.tries[name] for name in status if name in work.tries}
    seconds = round(ran.seconds + (judging.seconds if judging else 0.0), 1)
    trouble = _stopped(ran, told) or left.trouble or (_stopped(judging, told) if judging else None) or _broke(judged)
    unnamed = bool(left.answers) and left.questions == ""
    return Grade(work.name, left.student, work.digest, status, tries, seconds, trouble, unnamed, work.code)


def _new(folder: Path) -> Path:
    """Without anything of an earlier run; what that one had closed to its owner is opened first."""
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


def _hand_over(home: Path, told: Limits) -> None:
    """The folder is the other user's where there is one; what holds it lets that user through."""
    if told.user is None:
        return
    home.parent.chmod(0o755)
    for path in [home, *home.rglob("*")]:
        os.chown(path, told.user, told.group if told.group is not None else -1)
    home.chmod(0o700)


def _environment(home: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name in KEPT or name.startswith(KEPT_BEGINNINGS)}
    kept.pop("ASCEND_WORKBOOK_MIRROR", None)  # an index's address may hold a password
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**kept, **ONE_THREAD, "HOME": str(home), "TMPDIR": str(home / "tmp"), RUNS: str(home), "PYTHONPATH": paths,
            "ASCEND_WORKBOOK_HEADLESS": "1", "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}  # fmt: skip


@dataclass(frozen=True)
class Left:
    """What a run left: its answers, whose it is, the name whose questions they answer, and what is wrong with it."""

    student: str
    answers: Mapping[str, Any] = field(default_factory=dict)
    questions: str = ""
    trouble: dict[str, Scalar] | None = None


def _answers(run: Path, home: Path, student: str) -> Left:
    """Who worked without a name had everybody's questions; who worked under another's is judged by their own."""
    if any(path.is_symlink() for path in (run / RECORD, run, home / "run")):
        return Left(student, trouble={"say": "grading.link", "args": {"path": inside(RECORD)}})
    try:
        record = read_record(run)
    except WorkbookError as error:
        why = {name: printable(said) if isinstance(said, str) else said for name, said in error.arguments.items()}
        return Left(student, trouble={"say": error.key, "args": why})
    answers = {name: entry.answer for name, entry in record.tasks.items() if _is_answer(entry.answer)}
    if not record.tasks:
        return Left(student, trouble={"say": "grading.no_answers", "args": {}})
    if record.student in ("", student):
        return Left(student, answers, record.student)
    if same_person(record.student, student):  # the questions are drawn from the name as it stands in the notebook
        return Left(composed(record.student), answers, record.student)
    told: dict[str, Scalar] = {"declared": printable(record.student[:80]), "name": student}
    return Left(student, answers, student, {"say": "grading.other_name", "args": told})


def _is_answer(answer: Any) -> bool:
    """What the notebook's checker writes; a record written by hand may hold anything."""
    try:
        return as_data(answer) is not None
    except NoData:
        return False


def _judge(folder: Path, notebook: str, left: Left, told: Limits) -> tuple[dict[str, Any], Ended]:
    """Task -> what the judge tells of it, and how the judging child ended. Its folder is new: what the run left there
    is removed.

    Its lines are signed with a key that no file and no environment holds: what a judged script prints is none. Nor can
    one read the key where `told.user` is another than this process's: this one has it too."""
    home = _new(folder / "judging")
    (home / "tmp").mkdir()
    plan = {"notebook": notebook, "student": left.questions, "answers": dict(left.answers),
            "folder": str(home / "tasks")}  # fmt: skip
    (home / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    _hand_over(home, told)
    command = [sys.executable, "-m", "helpers.course.grading.judging", str(home / "plan.json")]
    log, key = folder / "judging.log", secrets.token_bytes(KEY_BYTES)
    log.unlink(missing_ok=True)
    ended = limits.run(command, _environment(home), home, log, told, key)
    found: dict[str, Any] = {}
    with log.open("rb") as stream:
        for line in iter(lambda: stream.readline(LONGEST_LINE), b""):
            one = verdict(line, key)
            if one:
                found.setdefault(one["task"], one)
    return found, ended


def _broke(judged: Mapping[str, Any]) -> dict[str, Scalar] | None:
    """The first task whose check could not judge: its status is no word on the answer."""
    broken = [(task, told["broke"]) for task, told in judged.items() if told["broke"]]
    return {"say": "grading.not_judged", "args": dict(zip(("task", "why"), broken[0]))} if broken else None


def _stopped(ended: Ended, told: Limits) -> dict[str, Scalar] | None:
    if ended.cut == "time":
        return {"say": "grading.time", "args": {"seconds": told.seconds}}
    if ended.cut == "processes":
        return {"say": "grading.processes", "args": {"most": told.processes}}
    if ended.cut == "memory":
        return {"say": "grading.memory", "args": {"mib": told.memory_mib}}
    return {"say": "grading.died", "args": {"code": ended.code}} if ended.code else None
