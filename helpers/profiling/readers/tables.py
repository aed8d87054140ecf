"""The tables (CSV) beside trace_view.json, with old and new columns; times in microseconds become nanoseconds."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np

from helpers.errors import WorkbookError
from helpers.profiling.intervals import I64
from helpers.profiling.readers.csv_files import opened
from helpers.profiling.readers.times import NO_TIME, OUT_OF_RANGE, nanoseconds, nanoseconds_of
from helpers.profiling.readers.types import dtypes
from helpers.profiling.trace import Event
from helpers.words import Scalar

KERNELS = "kernel_details.csv"
SIMULATED = "SIMULATED"
STEPS = "step_trace_time.csv"
#: Columns of step_trace_time.csv that hold no time; newer versions add the parallel groups' indices
NO_TIMES = ("Step", "Device_id", "DP Index", "PP Index", "TP Index")
MEMORY = "operator_memory.csv"
#: What stands in a cell that has no value
ABSENT = frozenset(("", "N/A"))


def rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a table as texts. Raises WorkbookError for a missing column, naming file and column."""
    with opened(path) as file:
        reader = csv.DictReader(file)
        missing = [name for name in needed if name not in (reader.fieldnames or ())]
        if missing:
            raise WorkbookError("profiling.no_column", path=str(path), columns=missing)
        return [{key: (value or "").strip() for key, value in row.items() if key} for row in reader]


def columns(path: Path, *needed: str) -> list[Sequence[str]]:
    """These columns' cells (n,) as texts, of two or more; the others are never held. Errors as in `rows`."""
    with opened(path) as file:
        lines = csv.reader(file)
        places = {name: at for at, name in enumerate(next(lines, []))}
        missing = [name for name in needed if name not in places]
        if missing:
            raise WorkbookError("profiling.no_column", path=str(path), columns=missing)
        used, width = itemgetter(*(places[name] for name in needed)), max(places.values()) + 1
        kept = [used(row if len(row) >= width else row + [""] * width) for row in lines if row]
        return [[*map(str.strip, cells)] for cells in zip(*kept)] or [() for _ in needed]


def times_ns(cells: Sequence[str], lines: Sequence[int], column: str, path: Path) -> I64:
    """Many cells of a column, in these lines, as nanoseconds (n,); errors as in `time_ns`."""
    texts = "\n".join(cells)
    if cells and '"' not in texts and texts.count("\n") == len(cells) - 1:
        found = nanoseconds_of(texts.encode().split(b"\n"))
        if not np.isin(found, (NO_TIME, OUT_OF_RANGE)).any():
            return found
    return np.array([time_ns({column: one}, column, path, line) for line, one in zip(lines, cells)], np.int64)


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
        return max(0, sum(1 for row in csv.reader(file) if row) - 1)


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
