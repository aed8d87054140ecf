"""The course's exercises and how far they have come."""

from __future__ import annotations

import os
from pathlib import Path

from helpers.course.outcome import DONE, NOT_YET
from helpers.course.record import read_record
from helpers.course.registry import tasks
from helpers.finding import Finding, Status
from helpers.notebook import results_begin_at
from helpers.report import Column, Report, Table
from helpers.words import Scalar


def exercises(run_dir: str | os.PathLike[str] = "runs/notebook") -> Report:
    """A row per exercise with its status in `run_dir`. Raises WorkbookError where the record there is none."""
    base = Path(run_dir).expanduser()
    record = read_record(base if base.is_absolute() else results_begin_at() / base)
    columns = (Column("exercise"), Column("title"), Column("stage"), Column("status"), Column("tries"))
    rows: list[tuple[Scalar, ...]] = []
    for name, task in tasks().items():
        entry = record.tasks.get(name)
        status = entry.status if entry else NOT_YET
        said: Scalar = {"say": f"course.status.{status}", "args": {}}
        title: Scalar = {"say": f"course.task.{name}", "args": {}}
        rows.append((name, title, {"say": f"name.{task.stage}", "args": {}}, said, entry.tries if entry else 0))
    done = sum(entry.status == DONE for name, entry in record.tasks.items() if name in tasks())
    found = Finding("CRS004", Status.OK, "CRS004.listed", {"done": done, "count": len(rows)})
    return Report("course", "course_list", (found,), Table(columns, tuple(rows)))
