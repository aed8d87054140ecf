"""The tables (CSV) beside trace_view.json, with old and new columns: steps, kernels, and what the allocator held.

Times in microseconds become nanoseconds; sizes are in MB as the files have them (an allocation in KB there). Of kernels
there is no type and no unit at Level0; what the unit did (PipeUtilization and the other metrics) comes from Level1 on,
with `aic_metrics` set. https://www.hiascend.com/document (Ascend PyTorch Profiler: kernel_details.csv, memory_record,
operator_memory, npu_module_mem)
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.sheet import ABSENT, F64, Cells, Mask, Piece, open_table, read_sheet
from ascend_workbook.profiling.readers.values import format_dtypes, to_nanoseconds
from ascend_workbook.profiling.trace import Event, Texts

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


#: Ours -> the headings that mean it, newest first
TEXTS = {
    "name": ("Name",),
    "type": ("Type", "OP Type"),
    "unit": ("Accelerator Core", "Core Type"),
    "hf32": ("HF32 Eligible",),
    "inputs": ("Input Data Types",),
}
NUMBERS = {
    "duration_us": ("Duration(us)",),
    "mac": ("aic_mac_ratio", "mac_ratio"),
    "cube_read": ("aic_mte2_ratio", "mte2_ratio"),
    "vector": ("aiv_vec_ratio", "vec_ratio"),
    "vector_read": ("aiv_mte2_ratio",),
    "vector_write": ("aiv_mte3_ratio", "mte3_ratio"),
    "cube_utilisation": ("cube_utilization(%)",),
}
#: What a unit is called that runs collectives
COLLECTIVE = ("HCCL", "COMMUNICATION")


@dataclass(frozen=True)
class KernelTable:
    """Columns (n,) of the kernels without collectives, in the file's order. `texts` are empty and `numbers` NaN where
    the file says N/A; a column that it lacks is absent. Ratios are 0 to 1, the utilisation is in percent.
    `bad_rows`: how many rows were left out since they have another number of cells than the heading, the first in line
    `bad_line`; `bad_cells`: how many cells are NaN since they are no numbers, `bad_cell` the first."""

    path: Path
    texts: dict[str, Texts]
    numbers: dict[str, F64]
    bad_rows: int = 0
    bad_line: int = 0
    bad_cells: int = 0
    bad_cell: str = ""

    def __len__(self) -> int:
        return int(self.numbers["duration_us"].size)

    def has_columns(self, *names: str) -> bool:
        """Return whether the columns are there and say something."""
        return all(
            any(self.texts[name].texts) if name in self.texts else not np.isnan(self.numbers.get(name, nan)).all()
            for name in names
        )

    def total_ns(self, where: Mask | None = None) -> int:
        """Return what the kernels take together, in nanoseconds."""
        durations = self.numbers["duration_us"]
        return round(float(np.nansum(durations if where is None else durations[where])) * 1000)

    def share_of(self, where: Mask) -> float:
        """Return which share of the kernels' time these take, 0 to 1."""
        total = self.total_ns()
        return self.total_ns(where) / total if total else 0.0

    def mask_where(self, column: str, wanted: Callable[[str], bool]) -> Mask:
        """Return a mask (n,) of the kernels whose text in this column is wanted: of none where the column is absent."""
        if column not in self.texts:
            return np.zeros(len(self), np.bool_)
        texts, code = self.texts[column]
        return np.array([wanted(text) for text in texts], np.bool_)[code]

    def distinct_texts(self, column: str, where: Mask) -> list[str]:
        """Return what the column says of these kernels, each text once, in order."""
        texts, code = self.texts[column]
        return sorted(texts[at] for at in np.unique(code[where]).tolist())

    def is_type(self, *types: str) -> Mask:
        """Return a mask (n,) of the kernels of these types, or whose type begins with one that ends in `*`."""
        whole = {text for text in types if not text.endswith("*")}
        begins = tuple(text[:-1] for text in types if text.endswith("*"))
        return self.mask_where("type", lambda text: text in whole or text.startswith(begins))


def read_kernel_table(folder: Path) -> KernelTable | None:
    """Return the table of the profile's output folder, or None where there is none or no kernel in it.

    Raises WorkbookError, naming the file, where it cannot be read.
    """
    path = folder / KERNELS
    if not path.is_file():
        return None
    with open_table(path) as file:
        head, pieces = read_sheet(file)
        unusable = _Unusable()
        table = _read_table(path, head, pieces, unusable)
    if "Duration(us)" not in head:
        raise WorkbookError("profiling.no_column", path=str(path), columns=["Duration(us)"])
    if table is None and unusable.rows:
        raise WorkbookError("profiling.bad_rows", path=str(path), rows=unusable.rows, line=unusable.line)
    return table


class _Unusable:
    """What could not be used so far: rows with another number of cells than the heading, cells that are no numbers."""

    def __init__(self) -> None:
        self.rows, self.cells, self.line, self.cell = 0, 0, 0, ""

    def find_fitting_rows(self, piece: Piece) -> Mask:
        """Return the rows (n,) that fit the heading."""
        self.rows += len(piece.ragged)
        self.line = self.line or next(iter(piece.ragged.values()), 0)
        return ~np.isin(np.arange(piece.first, piece.first + len(piece)), list(piece.ragged))

    def parse_odd_number(self, cell: str, _row: int) -> float:
        """Return the value of a cell that is not written as numbers usually are."""
        try:
            value = float(cell)
        except ValueError:
            value = nan
        if isfinite(value):
            return value
        self.cells += 1
        self.cell = self.cell or cell
        return nan


def _read_table(path: Path, head: list[str], pieces: Iterator[Piece], unusable: _Unusable) -> KernelTable | None:
    """Return the table without collectives; None where no kernel is left."""
    places = {
        column: at
        for column, headings in (TEXTS | NUMBERS).items()
        if (at := next((head.index(heading) for heading in headings if heading in head), None)) is not None
    }
    texts: dict[str, list[Texts]] = {column: [] for column in TEXTS if column in places}
    numbers: dict[str, list[F64]] = {column: [] for column in NUMBERS if column in places}
    for piece in pieces:
        columns = {column: piece.column_cells(at) for column, at in places.items()}
        is_kernel = unusable.find_fitting_rows(piece) & ~_mask_collectives(columns)
        for column, parts in texts.items():
            parts.append(_clean_texts(columns[column].select_cells(is_kernel).to_texts(), types=column == "inputs"))
        for column, values in numbers.items():
            values.append(columns[column].select_cells(is_kernel).to_numbers(unusable.parse_odd_number))
    if not any(column.size for values in numbers.values() for column in values):
        return None
    joined_texts = {column: Texts.join_columns(parts) for column, parts in texts.items()}
    joined = {column: np.concatenate(values) for column, values in numbers.items()}
    return KernelTable(path, joined_texts, joined, unusable.rows, unusable.line, unusable.cells, unusable.cell)


def _clean_texts(cells: Texts, types: bool) -> Texts:
    texts = ["" if text in ABSENT else text for text in cells.texts]
    return cells._replace(texts=[format_dtypes(text) for text in texts] if types else texts)


def _mask_collectives(columns: dict[str, Cells]) -> Mask:
    mask = np.zeros(next((column.begins.size for column in columns.values()), 0), np.bool_)
    if "unit" in columns:
        mask |= columns["unit"].equals_any(*COLLECTIVE)
    if "name" in columns:
        mask |= columns["name"].starts_with(b"hcom")
    return mask


RECORD, MODULES = "memory_record.csv", "npu_module_mem.csv"
#: PyTorch's caching allocator; APP is the whole process as the driver sees it
ALLOCATOR, PROCESS = "PTA", "APP"
FOREVER = 2**62


@dataclass(frozen=True)
class MemoryTables:
    """`at_ns`, `allocated_mb`, `reserved_mb` (n,): the allocator after each change, in order of time. `names`,
    `size_mb`, `from_ns`, `until_ns` (m,): single allocations, FOREVER where not released while recorded. `process_mb`:
    the most that the process held; `modules_mb`: the most of each of CANN's components."""

    at_ns: I64
    allocated_mb: F64
    reserved_mb: F64
    names: tuple[str, ...]
    size_mb: F64
    from_ns: I64
    until_ns: I64
    process_mb: float
    modules_mb: dict[str, float]


def read_memory_tables(folder: Path) -> MemoryTables | None:
    """Return the tables of the profile's output folder, or None where the allocator was not recorded.

    Raises WorkbookError, naming file and place, for what cannot be read.
    """
    path = folder / RECORD
    needed = ("Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)")
    times: list[I64] = []
    held: tuple[list[F64], list[F64]] = ([], [])
    process = [nan]
    for component, moments, *sizes in read_columns(path, *needed) if path.is_file() else ():
        of_allocator = component.equals_any(ALLOCATOR)
        times.append(times_ns(moments.select_cells(of_allocator), needed[1], path))
        for held_sizes, cells, name in zip(held, sizes, needed[2:]):
            held_sizes.append(_read_sizes(cells.select_cells(of_allocator), name, path))
        process += _read_sizes(sizes[1].select_cells(component.equals_any(PROCESS)), needed[3], path).tolist()
    if not times:
        return None
    at = np.concatenate(times)
    order = np.argsort(at, kind="stable")
    allocated, reserved = (np.concatenate(pieces)[order] for pieces in held)
    known = ~(np.isnan(allocated) | np.isnan(reserved))  # of the others the file tells nothing
    if not known.any():
        return None
    at, allocated, reserved = at[order][known], allocated[known], reserved[known]
    most, allocations = float(np.fmax.reduce(process)), _read_allocations(folder / MEMORY)
    return MemoryTables(at, allocated, reserved, *allocations, most, _read_modules(folder / MODULES))


def _read_allocations(path: Path) -> tuple[tuple[str, ...], F64, I64, I64]:
    needed = ("Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)")
    names: list[str] = []
    allocations: list[tuple[F64, I64, I64]] = [(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))]
    for piece in read_columns(path, *needed) if path.is_file() else ():
        started = piece[2].filled_mask()  # taken before the recording: only its release
        name, size, start, end = (column.select_cells(started) for column in piece)
        until = np.full(end.begins.size, FOREVER, np.int64)
        until[end.filled_mask()] = times_ns(end.select_cells(end.filled_mask()), needed[3], path)
        texts, code = name.to_texts()
        names += map(texts.__getitem__, code.tolist())
        allocations.append((_read_sizes(size, needed[1], path) / 1024, times_ns(start, needed[2], path), until))
    sizes, starts, ends = map(np.concatenate, zip(*allocations))
    return tuple(names), sizes, starts, ends


def _read_modules(path: Path) -> dict[str, float]:
    needed = ("Component", "Total Reserved(MB)")
    most: dict[str, float] = {}
    for name, cells in read_columns(path, *needed) if path.is_file() else ():
        texts, code = name.to_texts()
        for at, size in zip(code.tolist(), _read_sizes(cells, needed[1], path).tolist()):
            most[texts[at]] = max(most.get(texts[at], 0.0), size)
    return most


def _read_sizes(cells: Cells, column: str, path: Path) -> F64:
    """Return a column's cells as numbers, NaN where the file has none. Raises WorkbookError for what is no number."""
    return cells.to_numbers(lambda cell, row: _parse_size(cell, column, path, row + 2))


def _parse_size(text: str, column: str, path: Path, line: int) -> float:
    try:
        size = float(text)
    except ValueError:
        size = nan
    if not isfinite(size):
        raise WorkbookError("profiling.bad_cell", path=str(path), line=line, column=column, value=text)
    return size
