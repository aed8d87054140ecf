"""The course's exercises and the capstone's stages, and how far they have come."""

from __future__ import annotations

import os
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.project import results_begin_at
from course.exercises.outcome import DONE, NOT_YET
from course.exercises.record import Record, read_record
from course.exercises.task import CAPSTONE, CAPSTONE_FOLDER, EXERCISES, NOTEBOOKS, PLANNING, Task, load_tasks

#: What is listed, as the commands call the notebooks -> where the notebook keeps its record, below run_dir.
RECORDS = {EXERCISES: "", PLANNING: "", CAPSTONE: CAPSTONE_FOLDER}
#: The folder before the first run of a notebook need not be there; any other was meant to be.
DEFAULT = "runs/notebook"


def tasks_of(notebook: str) -> dict[str, Task]:
    """Return the tasks of a notebook, of the CAPSTONE its stages, by id. Raises WorkbookError for another name."""
    if notebook in (EXERCISES, PLANNING):
        return load_tasks(notebook)
    if notebook != CAPSTONE:
        raise WorkbookError("course.unknown_notebook", given=notebook, known=list(NOTEBOOKS))
    from course.exercises.capstone import STAGES

    return {task.id: task for task in STAGES.values()}


def exercises(run_dir: str | os.PathLike[str] = DEFAULT) -> Report:
    """A row per exercise, those on planning too, then one per stage of the capstone, with its status in `run_dir`
    (relative ones lie where the notebooks keep their results). Raises WorkbookError `course.no_run_dir` for a folder
    that there is not, other than the default one, and where a record there is none."""
    base = results_begin_at() / Path(run_dir).expanduser()
    if not base.is_dir() and (base.exists() or base != results_begin_at() / DEFAULT):
        raise WorkbookError("course.no_run_dir", path=str(base))
    columns = (Column("exercise"), Column("title"), Column("stage"), Column("status"), Column("tries"))
    rows, counts = [], {"exercises": [0, 0], "stages": [0, 0]}
    for notebook, folder in RECORDS.items():
        record, known = read_record(base / folder), tasks_of(notebook)
        rows += [_row_of_exercise(name, task.stage, record) for name, task in known.items()]
        count = counts["stages" if notebook == CAPSTONE else "exercises"]
        count[0] += sum(entry.status == DONE for name, entry in record.tasks.items() if name in known)
        count[1] += len(known)
    numbers = (*counts["exercises"], *counts["stages"])
    facts: dict[str, Scalar] = dict(zip(("done", "count", "stages_done", "stages"), numbers))
    finding = Finding("CRS004", Status.GOOD, "CRS004.listed" if base.is_dir() else "CRS004.nothing_yet", facts)
    return Report("course", "course_list", (finding,), Table(columns, tuple(rows)))


def _row_of_exercise(name: str, stage: str, record: Record) -> tuple[Scalar, ...]:
    entry = record.tasks.get(name)
    status: Scalar = Sentence(f"course.status.{entry.status if entry else NOT_YET}")
    title: Scalar = Sentence(f"course.task.{name}")
    return name, title, Sentence(f"name.{stage}"), status, entry.tries if entry else 0
