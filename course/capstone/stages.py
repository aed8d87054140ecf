"""`check_stage`: one stage's decisions judged and kept; `handed_in`: what all stages left, on one page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ascend_workbook import batch
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, join_reports
from ascend_workbook.findings.report import load_report as load_report
from ascend_workbook.findings.sentence import Sentence
from course.capstone import environment, migration, precision, profiling
from course.capstone.migration import SCRIPT
from course.checking import check_task
from course.outcome import DONE, Outcome
from course.record import read_record
from helpers.notebook import NotebookRun

#: In the order of the notebook: later ones take the script as the migration left it.
STAGES = {stage.TASK.stage: stage.TASK for stage in (environment, migration, precision, profiling)}

__all__ = ["SCRIPT", "STAGES", "check_stage", "handed_in"]


def check_stage(stage: str, answer: object, run: NotebookRun) -> Outcome:
    """Judge the decisions of one of STAGES: plain data, or a function that returns it; recorded beside the reports.

    Whatever the answer is, nothing is raised; None, the notebook's stub, is not yet. Raises WorkbookError
    `course.unknown_task` for a stage that there is not.
    """
    if stage not in STAGES:
        raise WorkbookError("course.unknown_task", given=stage, known=list(STAGES))
    return check_task(STAGES[stage], answer, run_dir=run.folder)


def handed_in(run: NotebookRun, lang: str) -> Report:
    """Return the four stages' reports as one, with acceptance.html beside them; one without is not looked at."""
    base = run.folder / "course"
    reports, findings = [], []
    tasks = read_record(run.folder).tasks
    for stage, task in STAGES.items():
        path = base / task.id / "report.json"
        done = task.id in tasks and tasks[task.id].status == DONE
        if path.is_file():
            reports.append(load_report(path))
        if not done:
            name = Sentence(f"course.capstone.{stage}")
            findings.append(Finding("CAP400", Status.SKIPPED, "course.capstone.not_done", {"stage": name}, weight=500))
    if not reports:
        return Report("batch", "capstone", tuple(findings))
    accepted = batch.accept(_gather_stages(base), lang=lang)
    whole = join_reports("batch", "capstone", [*reports, accepted])
    return replace(whole, findings=(*findings, *whole.findings))


def _gather_stages(base: Path) -> Path:
    """Copy the tasks' folders under the names of the stages, as a run has them."""
    run = base / "run"
    for stage, task in STAGES.items():
        saved = base / task.id / "report.json"
        if saved.is_file():
            (run / stage).mkdir(parents=True, exist_ok=True)
            (run / stage / "report.json").write_bytes(saved.read_bytes())
    return run
