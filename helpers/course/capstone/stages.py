"""`check_stage`: one stage's decisions judged and kept; `handed_in`: what all stages left, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers import batch
from helpers.course.capstone import environment, migration, precision, profiling
from helpers.course.capstone.migration import SCRIPT
from helpers.course.checking import check_task
from helpers.course.outcome import DONE, Outcome
from helpers.course.record import read_record
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.notebook import NotebookRun
from helpers.report import Report, overview
from helpers.report import load as load_report
from helpers.words import Scalar

#: In the order of the notebook: later ones take the script as the migration left it.
STAGES = {one.TASK.stage: one.TASK for one in (environment, migration, precision, profiling)}

__all__ = ["SCRIPT", "STAGES", "check_stage", "handed_in"]


def check_stage(stage: str, answer: Any, run: NotebookRun) -> Outcome:
    """Judges the decisions of one of STAGES: plain data, or a function that returns it; recorded beside the reports.

    Whatever the answer is, nothing is raised; None, the notebook's stub, is not yet. Raises WorkbookError
    `course.unknown_task` for a stage that there is not.
    """
    if stage not in STAGES:
        raise WorkbookError("course.unknown_task", given=stage, known=list(STAGES))
    return check_task(STAGES[stage], answer, run_dir=run.folder)


def handed_in(run: NotebookRun, lang: str) -> Report:
    """The four stages' reports as one, and beside them acceptance.html. Stages without one are told as not looked."""
    base = run.folder / "course"
    reports, found = [], []
    tasks = read_record(run.folder).tasks
    for stage, task in STAGES.items():
        path = base / task.id / "report.json"
        done = tasks[task.id].status == DONE if task.id in tasks else False
        if path.is_file():
            reports.append(load_report(path))
        if not done:
            args: dict[str, Scalar] = {"stage": {"say": f"course.capstone.{stage}"}}
            found.append(Finding("CAP400", Status.SKIPPED, "course.capstone.not_done", args, weight=500))
    if not reports:
        return Report("batch", "capstone", tuple(found))
    accepted = batch.accept(_gathered(base), lang=lang)
    whole = overview("batch", "capstone", [*reports, accepted])
    return Report(**{**vars(whole), "findings": (*found, *whole.findings)})


def _gathered(base: Path) -> Path:
    """The tasks' folders under the names of the stages, as a run has them."""
    run = base / "run"
    for stage, task in STAGES.items():
        kept = base / task.id / "report.json"
        if kept.is_file():
            (run / stage).mkdir(parents=True, exist_ok=True)
            (run / stage / "report.json").write_bytes(kept.read_bytes())
    return run
