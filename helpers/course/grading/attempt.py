"""One submission from its bytes to its grade: run the cells, take the answers, judge them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from helpers.course.checking import COLLECT
from helpers.course.grading import limits
from helpers.course.grading.judging import MARK
from helpers.course.grading.limits import Ended, Limits
from helpers.course.grading.submission import Submission, cells_of
from helpers.course.outcome import NOT_YET
from helpers.course.record import read_record
from helpers.course.registry import CAPSTONE, CAPSTONE_FOLDER, EXERCISES, tasks_of
from helpers.errors import WorkbookError
from helpers.notebook import ROOT, RUNS
from helpers.words import Scalar

CHILD = Path(__file__).with_name("child.py")
#: What of this process's environment goes along: where CANN and the libraries are, and nothing that may be a secret.
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "TZ")
KEPT_BEGINNINGS = ("ASCEND_", "HCCL_")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Grade:
    """What a submission came to: task -> status and tries; `trouble` is a sentence: what kept it from more.

    unnamed: it was worked without a name, so its questions were everybody's.
    """

    name: str
    student: str
    digest: str
    status: dict[str, str] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    trouble: dict[str, Scalar] | None = None
    unnamed: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def grade_one(
    submission: Submission, student: str, folder: Path, lang: str, cell_timeout_s: float, told: Limits,
    notebook: str = EXERCISES,
) -> Grade:
    """Runs it in `folder`, made anew, and judges what it answered to `notebook` under the name `student`."""
    shutil.rmtree(folder, ignore_errors=True)
    home = folder / "home"
    (home / "tmp").mkdir(parents=True)
    plan = {"cells": cells_of(submission.notebook), "cell_timeout_s": cell_timeout_s,
            "notebook": str(home / "executed.ipynb"),
            "parameters": {"run_dir": str(home / "run"), "lang": lang}}  # fmt: skip
    (home / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    _hand_over(home, told)
    command = [sys.executable, str(CHILD), str(home / "plan.json")]
    ran = limits.run(command, {**_environment(home), COLLECT: "1"}, home, folder / "run.log", told)
    kept = home / "run" / CAPSTONE_FOLDER if notebook == CAPSTONE else home / "run"
    answers, declared, trouble = _answers(kept, student)
    trouble = _stopped(ran, told) or trouble
    judged, judging = _judge(folder, notebook, answers, student if declared else "", told) if answers else ({}, None)
    status = {name: judged.get(name, NOT_YET) for name in tasks_of(notebook)}
    tries = submission.claimed_tries()
    return Grade(submission.name, student, submission.digest, status, {name: tries[name] for name in status
                 if name in tries}, round(ran.seconds + (judging.seconds if judging else 0.0), 1),
                 trouble or (_stopped(judging, told) if judging else None), bool(answers) and not declared)  # fmt: skip


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
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**kept, **ONE_THREAD, "HOME": str(home), "TMPDIR": str(home / "tmp"), RUNS: str(home), "PYTHONPATH": paths,
            "ASCEND_WORKBOOK_HEADLESS": "1", "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}  # fmt: skip


def _answers(run: Path, student: str) -> tuple[dict[str, Any], bool, dict[str, Scalar] | None]:
    """The answers that the run left, whether under the student's name, and what is wrong with the record.

    Who worked without a name had everybody's questions; who worked under another's is judged by their own.
    """
    try:
        record = read_record(run)
    except WorkbookError as error:
        return {}, False, {"say": error.key, "args": error.arguments}
    answers = {name: entry.answer for name, entry in record.tasks.items() if entry.answer is not None}
    if not record.tasks:
        return {}, False, {"say": "grading.no_answers", "args": {}}
    if record.student not in ("", student):
        return answers, True, {"say": "grading.other_name", "args": {"declared": record.student[:80], "name": student}}
    return answers, record.student != "", None


def _judge(
    folder: Path, notebook: str, answers: Mapping[str, Any], student: str, told: Limits
) -> tuple[dict[str, str], Ended]:
    """Task -> status, and how the judging child ended. Its folders are new: what the run left is not looked at."""
    home = folder / "judging"
    (home / "tmp").mkdir(parents=True)
    plan = {"notebook": notebook, "student": student, "answers": dict(answers), "folder": str(home / "tasks")}
    (home / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    _hand_over(home, told)
    command = [sys.executable, "-m", "helpers.course.grading.judging", str(home / "plan.json")]
    ended = limits.run(command, _environment(home), home, folder / "judging.log", told)
    found: dict[str, str] = {}
    for line in (folder / "judging.log").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(MARK):
            one = json.loads(line[len(MARK) :])
            found[one["task"]] = one["status"]
    return found, ended


def _stopped(ended: Ended, told: Limits) -> dict[str, Scalar] | None:
    if ended.cut == "time":
        return {"say": "grading.time", "args": {"seconds": told.seconds}}
    if ended.cut == "memory":
        return {"say": "grading.memory", "args": {"mib": told.memory_mib}}
    return {"say": "grading.died", "args": {"code": ended.code}} if ended.code else None
