"""The course's exercises and the capstone's stages, and how far they have come."""

from __future__ import annotations

import os
from pathlib import Path

from helpers.course.outcome import DONE, NOT_YET
from helpers.course.record import Record, read_record
from helpers.course.registry import CAPSTONE, CAPSTONE_FOLDER, EXERCISES, tasks_of
from helpers.finding import Finding, Status
from helpers.notebook import results_begin_at
from helpers.report import Column, Report, Table
from helpers.words import Scalar

#: What is listed, as the commands call the notebooks -> where the notebook keeps its record, below run_dir.
RECORDS = {EXERCISES: "", CAPSTONE: CAPSTONE_FOLDER}


def exercises(run_dir: str | os.PathLike[str] = "runs/notebook") -> Report:
    """A row per exercise, then one per stage of the capstone, with its status in `run_dir` (relative ones lie where the
    notebooks keep their results). Raises WorkbookError where a record there is none."""
    base = Path(run_dir).expanduser()
    base = base if base.is_absolute() else results_begin_at() / base
    columns = (Column("exercise"), Column("title"), Column("stage"), Column("status"), Column("tries"))
    rows, counts = [], []
    for notebook, folder in RECORDS.items():
        record, known = read_record(base / folder), tasks_of(notebook)
        rows += [_row(name, task.stage, record) for name, task in known.items()]
        counts += [sum(entry.status == DONE for name, entry in record.tasks.items() if name in known), len(known)]
    said: dict[str, Scalar] = dict(zip(("done", "count", "stages_done", "stages"), counts))
    found = Finding("CRS004", Status.OK, "CRS004.listed", said)
    return Report("course", "course_list", (found,), Table(columns, tuple(rows)))


def _row(name: str, stage: str, record: Record) -> tuple[Scalar, ...]:
    entry = record.tasks.get(name)
    said: Scalar = {"say": f"course.status.{entry.status if entry else NOT_YET}", "args": {}}
    title: Scalar = {"say": f"course.task.{name}", "args": {}}
    return name, title, {"say": f"name.{stage}", "args": {}}, said, entry.tries if entry else 0
