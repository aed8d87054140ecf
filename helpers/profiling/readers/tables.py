"""The tables (CSV) beside trace_view.json, with old and new columns; times in microseconds become nanoseconds."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.profiling.intervals import I64
from helpers.profiling.readers.cells import Cells
from helpers.profiling.readers.csv_files import opened
from helpers.profiling.readers.sheet import sheet
from helpers.profiling.readers.times import nanoseconds
from helpers.profiling.readers.types import dtypes
from helpers.profiling.trace import Event
from helpers.words import Scalar

KERNELS = "kernel_details.csv"
SIMULATED = "SIMULATED"
STEPS = "step_trace_time.csv"
#: Columns of step_trace_time.csv that hold no time; newer versions add the parallel groups' indices
NO_TIMES = ("Step", "Device_id", "DP Index", "PP Index", "TP Index")
MEMORY = "operator_memory.csv"


def rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a table as texts. Raises WorkbookError for a missing column, naming file and column."""
    with opened(path) as file:
        reader = csv.DictReader(file)
        missing = [name for name in needed if name not in (reader.fieldnames or ())]
        if missing:
            raise WorkbookError("profiling.no_column", path=str(path), columns=missing)
        return [{key: (value or "").strip() for key, value in row.items() if key} for row in reader]


def columns(path: Path, *needed: str) -> Iterator[list[Cells]]:
    """These columns' cells, piece after piece; the others are never held. Errors as in `rows`."""
    with opened(path) as file:
        head, pieces = sheet(file)
        missing = [name for name in needed if name not in head]
        if missing:
            raise WorkbookError("profiling.no_column", path=str(path), columns=missing)
        for piece in pieces:
            yield [piece.column(head.index(name)) for name in needed]


def times_ns(cells: Cells, column: str, path: Path) -> I64:
    """The cells of a column as nanoseconds (n,); errors as in `time_ns`."""
    return cells.times_ns(lambda cell, row: time_ns({column: cell}, column, path, row + 2))


def time_ns(row: dict[str, str], column: str, path: Path, line: int) -> int:
    """One cell as nanoseconds; an error names file, line and column. Start times carry a trailing tab."""
    try:
        return nanoseconds(row[column])
    except ValueError as cause:
        place: dict[str, Scalar] = {"path": str(path), "line": line, "column": column}
        raise WorkbookError("profiling.bad_cell", value=row[column], **place) from cause


def count(path: Path) -> int:
    """Rows of a table that may be absent."""
    if not path.is_file():
        return 0
    with opened(path) as file:
        return sum(map(len, sheet(file)[1]))


def kernels(path: Path) -> tuple[list[Event], bool]:
    """kernel_details.csv as device events, and whether it says that the device was a simulated one.

    `Step Id` and `Device_id` are there in some versions only.
    """
    events, simulated = [], False
    needed = ("Name", "Start Time(us)", "Duration(us)")
    for line, row in enumerate(rows(path, needed), start=2):
        core = row.get("Accelerator Core") or row.get("Type") or ""
        simulated |= core == SIMULATED
        kind = "communication" if core == "HCCL" or row["Name"].startswith("hcom") else "compute"
        step = row.get("Step Id", "")
        events.append(
            Event(
                name=row["Name"],
                kind=kind,
                lane=f"device {row.get('Device_id', '0')} stream {row.get('Stream ID', '')}",
                start_ns=time_ns(row, "Start Time(us)", path, line),
                duration_ns=time_ns(row, "Duration(us)", path, line),
                shape=shape(row.get("Input Shapes", "")),
                engine="" if kind == "communication" or core == "N/A" else core,
                dtype=dtypes(row.get("Input Data Types", "")),
                step=int(step) if step.isdigit() else None,
            )
        )
    if not events:
        raise WorkbookError("profiling.no_events", path=str(path))
    return events, simulated


def step_times(path: Path) -> dict[int, dict[str, int]]:
    """step_trace_time.csv: step number -> its columns in nanoseconds by heading; rows without a number are none."""
    found = {}
    for line, row in enumerate(rows(path, ("Step", "Computing", "Free")), start=2):
        times = [name for name in row if name not in NO_TIMES and row[name]]
        if row["Step"].isdigit():
            found[int(row["Step"])] = {name: time_ns(row, name, path, line) for name in times}
    return found


def shape(text: str) -> str:
    """Either table's way to write input shapes -> `[32,3,224,224] [64]`."""
    pieces = text.replace("\r\n", "").replace("\n", "").strip('"').split(";")
    return " ".join(f"[{piece.strip()}]" for piece in pieces if piece.strip(" \t\"") not in ("", "N/A"))
