"""An `*_ascend_pt` folder many times over: its timeline and the tables beside it."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from benchmarks.traces.copies import later, timeline

OUTPUT = "ASCEND_PROFILER_OUTPUT"
#: Table -> its columns of times, and the one that numbers the step
TABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "kernel_details.csv": (("Start Time(us)",), "Step Id"),
    "step_trace_time.csv": ((), "Step"),
    "memory_record.csv": (("Timestamp(us)",), ""),
    "operator_memory.csv": (("Allocation Time(us)", "Release Time(us)", "Active Release Time(us)"), ""),
    "operator_details.csv": ((), ""),
}


def folder(source: Path, target: Path, megabytes: int) -> int:
    """Writes the folder with a timeline of about that size; gives the number of copies."""
    (target / OUTPUT).mkdir(parents=True)
    for file in [*source.glob("*.json"), *(source / OUTPUT).glob("*")]:
        if file.name not in ("trace_view.json", *TABLES):
            shutil.copyfile(file, target / file.relative_to(source))
    name = f"{OUTPUT}/trace_view.json"
    copies, span = timeline(source / name, target / name, megabytes)
    for table, (times, step) in TABLES.items():
        if (source / OUTPUT / table).is_file():
            _table(source / OUTPUT / table, target / OUTPUT / table, times, step, copies, span)
    return copies


def _table(source: Path, target: Path, times: tuple[str, ...], step: str, copies: int, span: int) -> None:
    csv.field_size_limit(2**24)
    with source.open(encoding="utf-8-sig", newline="") as old, target.open("w", encoding="utf-8", newline="") as new:
        heading, *rows = csv.reader(old)
        out = csv.writer(new)
        out.writerow(heading)
        moving = [at for at, name in enumerate(heading) if name in times]
        numbered = [at for at, name in enumerate(heading) if name == step]
        for copy in range(copies):
            for row in rows:
                for at in moving:
                    row[at] = later(row[at], span if copy else 0) if row[at].strip() else row[at]
                for at in numbered:
                    row[at] = str(int(row[at]) + bool(copy)) if row[at].strip().isdigit() else row[at]
                out.writerow(row)
