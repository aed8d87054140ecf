"""The tables (CSV) beside trace_view.json, with old and new columns; times in microseconds become nanoseconds."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.cells import Cells
from ascend_workbook.profiling.readers.csv_files import open_table
from ascend_workbook.profiling.readers.sheet import read_sheet
from ascend_workbook.profiling.readers.times import to_nanoseconds
from ascend_workbook.profiling.readers.types import format_dtypes
from ascend_workbook.profiling.trace import Event

KERNELS = "kernel_details.csv"
SIMULATED = "SIMULATED"
STEPS = "step_trace_time.csv"
#: Columns of step_trace_time.csv that hold no time; newer versions add the parallel groups' indices
NO_TIMES = ("Step", "Device_id", "DP Index", "PP Index", "TP Index")
MEMORY = "operator_memory.csv"


def read_rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the rows of a table as texts. Raises WorkbookError for a missing column, naming file and column."""
    with open_table(path) as file:
        reader = csv.DictReader(file)
        missing = [name for name in needed if name not in (reader.fieldnames or ())]
        if missing:
            raise WorkbookError("profiling.no_column", path=str(path), columns=missing)
        return [{key: (value or "").strip() for key, value in row.items() if key} for row in reader]


def read_columns(path: Path, *needed: str) -> Iterator[list[Cells]]:
    """Yield the cells of these columns, piece after piece; the others are never held. Errors as in `read_rows`."""
    with open_table(path) as file:
        head, pieces = read_sheet(file)
        missing = [name for name in needed if name not in head]
        if missing:
            raise WorkbookError("profiling.no_column", path=str(path), columns=missing)
        for piece in pieces:
            yield [piece.column_cells(head.index(name)) for name in needed]


def times_ns(cells: Cells, column: str, path: Path) -> I64:
    """Return the cells of a column as nanoseconds (n,); errors as in `time_ns`."""
    return cells.to_times_ns(lambda cell, row: time_ns({column: cell}, column, path, row + 2))


def time_ns(row: dict[str, str], column: str, path: Path, line: int) -> int:
    """Return one cell as nanoseconds; an error names file, line and column. Start times carry a trailing tab."""
    try:
        return to_nanoseconds(row[column])
    except ValueError as cause:
        place: dict[str, Scalar] = {"path": str(path), "line": line, "column": column}
        raise WorkbookError("profiling.bad_cell", value=row[column], **place) from cause


def count_rows(path: Path) -> int:
    """Count the rows of a table that may be absent."""
    if not path.is_file():
        return 0
    with open_table(path) as file:
        return sum(map(len, read_sheet(file)[1]))


def read_kernels(path: Path) -> tuple[list[Event], bool]:
    """Return kernel_details.csv as device events, and whether it says that the device was a simulated one.

    `Step Id` and `Device_id` are there in some versions only.
    """
    events, simulated = [], False
    needed = ("Name", "Start Time(us)", "Duration(us)")
    for line, row in enumerate(read_rows(path, needed), start=2):
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
                shape=format_shape(row.get("Input Shapes", "")),
                engine="" if kind == "communication" or core == "N/A" else core,
                dtype=format_dtypes(row.get("Input Data Types", "")),
                step=int(step) if step.isdigit() else None,
            )
        )
    if not events:
        raise WorkbookError("profiling.no_events", path=str(path))
    return events, simulated


def read_step_times(path: Path) -> dict[int, dict[str, int]]:
    """Read step_trace_time.csv: step number -> its columns in ns by heading; rows without a number are left out."""
    times_of_step = {}
    for line, row in enumerate(read_rows(path, ("Step", "Computing", "Free")), start=2):
        times = [name for name in row if name not in NO_TIMES and row[name]]
        if row["Step"].isdigit():
            times_of_step[int(row["Step"])] = {name: time_ns(row, name, path, line) for name in times}
    return times_of_step


def format_shape(text: str) -> str:
    """Turn either table's way to write input shapes into `[32,3,224,224] [64]`."""
    pieces = text.replace("\r\n", "").replace("\n", "").strip('"').split(";")
    return " ".join(f"[{piece.strip()}]" for piece in pieces if piece.strip(' \t"') not in ("", "N/A"))
