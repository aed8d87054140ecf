"""The course's exercises and the capstone's stages, and how far they have come."""

from __future__ import annotations

import os
from pathlib import Path

from helpers.course.outcome import DONE, NOT_YET
from helpers.course.record import Record, read_record
from helpers.course.registry import CAPSTONE, CAPSTONE_FOLDER, EXERCISES, tasks_of
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.notebook import results_begin_at
from helpers.report import Column, Report, Table
from helpers.words import Scalar

#: What is listed, as the commands call the notebooks -> where the notebook keeps its record, below run_dir.
RECORDS = {EXERCISES: "", CAPSTONE: CAPSTONE_FOLDER}
#: The folder before the first run of a notebook need not be there; any other was meant to be.
DEFAULT = "runs/notebook"


def exercises(run_dir: str | os.PathLike[str] = DEFAULT) -> Report:
    """A row per exercise, then one per stage of the capstone, with its status in `run_dir` (relative ones lie where the
    notebooks keep their results). Raises WorkbookError `course.no_run_dir` for a folder that there is not, other than
    the default one, and where a record there is none."""
    base = Path(run_dir).expanduser()
    base = base if base.is_absolute() else results_begin_at() / base
    if not base.is_dir() and (base.exists() or base != results_begin_at() / DEFAULT):
        raise WorkbookError("course.no_run_dir", path=str(base))
    columns = (Column("exercise"), Column("title"), Column("stage"), Column("status"), Column("tries"))
    rows, counts = [], []
    for notebook, folder in RECORDS.items():
        record, known = read_record(base / folder), tasks_of(notebook)
        rows += [_row(name, task.stage, record) for name, task in known.items()]
        counts += [sum(entry.status == DONE for name, entry in record.tasks.items() if name in known), len(known)]
    said: dict[str, Scalar] = dict(zip(("done", "count", "stages_done", "stages"), counts))
    found = Finding("CRS004", Status.OK, "CRS004.listed" if base.is_dir() else "CRS004.nothing_yet", said)
    return Report("course", "course_list", (found,), Table(columns, tuple(rows)))


def _row(name: str, stage: str, record: Record) -> tuple[Scalar, ...]:
    entry = record.tasks.get(name)
    said: Scalar = {"say": f"course.status.{entry.status if entry else NOT_YET}", "args": {}}
    title: Scalar = {"say": f"course.task.{name}", "args": {}}
    return name, title, {"say": f"name.{stage}", "args": {}}, said, entry.tries if entry else 0
