"""The tables (CSV) beside trace_view.json, with old and new columns: steps, kernels, and what the allocator held.

Times in microseconds become nanoseconds; sizes are in MB as the files have them (an allocation in KB there). Of kernels
there is no type and no unit at Level0; what the unit did (PipeUtilization and the other metrics) comes from Level1 on,
with `aic_metrics` set. https://www.hiascend.com/document (Ascend PyTorch Profiler: kernel_details.csv, memory_record,
operator_memory, npu_module_mem)"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate, chain, compress, count, islice
from math import inf, isfinite, nan
from pathlib import Path
from sys import intern
from typing import TextIO

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.number_lists import is_number
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.document import BAD, READ_SIZE
from ascend_workbook.profiling.readers.loading import without_garbage_collection
from ascend_workbook.profiling.readers.values import LIMIT, format_dtypes, to_nanoseconds
from ascend_workbook.profiling.trace import Event, Texts

Mask = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
#: What stands in a cell that has no value
ABSENT = ("", "N/A")
KERNELS = "kernel_details.csv"
SIMULATED = "SIMULATED"
STEPS = "step_trace_time.csv"
#: Columns of step_trace_time.csv that hold no time; newer versions add the parallel groups' indices
NO_TIMES = ("Step", "Device_id", "DP Index", "PP Index", "TP Index")
MEMORY = "operator_memory.csv"
#: Call stacks can be longer than the default of 128 KiB
LONGEST_CELL = 2**24
#: Rows that are looked at together
ROWS = 2**12
LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Piece:
    """Some rows of a table, each as wide as the heading: what is missing is empty, what is too much is cut. `cells`:
    row behind row; `first`: the number of the first row, without the heading; `ragged`: those that were not as wide,
    and their lines in the file, by their place here."""

    cells: list[str]
    width: int
    first: int
    ragged: dict[int, int]

    def __len__(self) -> int:
        return len(self.cells) // self.width

    def column(self, at: int) -> list[str]:
        """Return the cells of one column as they are written: start times end in a tab."""
        return self.cells[at :: self.width]

    @property
    def rows(self) -> Iterator[list[str]]:
        """Yield the rows."""
        return (self.cells[at : at + self.width] for at in range(0, len(self.cells), self.width))


@contextmanager
def open_table(path: Path) -> Iterator[TextIO]:
    """Open the file for a reader of `csv`, to be read through inside; what fails there is a WorkbookError. What is no
    UTF-8 becomes U+FFFD: count_replaced counts it."""
    csv.field_size_limit(LONGEST_CELL)
    try:
        with without_garbage_collection(), path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            yield file
    except (OSError, csv.Error) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause


def read_sheet(file: TextIO) -> tuple[list[str], Iterator[Piece]]:
    """Read the heading and the pieces of a file of open_table; [] of an empty one. Empty lines are no rows."""
    lines = _Counted(file)
    head = next(filter(None, csv.reader(lines)), [])
    return [name.strip() for name in head], _read_pieces(lines, len(head))


class _Counted:
    """The lines of a file, each with its end; `count` of them are read."""

    def __init__(self, file: TextIO) -> None:
        self._file, self.count = file, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._file)
        self.count += 1
        return line


def _read_pieces(lines: _Counted, width: int) -> Iterator[Piece]:
    """Yield what follows; lines without quotes are cells by their commas, which is how csv reads them."""
    first = 0
    while some := [*islice(lines, ROWS)]:
        cells = _split_plain(some, width)
        if cells is None:
            yield from _read_by_csv(some, lines, width, first)
            return
        piece = Piece(cells, width, first, {})
        yield piece
        first += len(piece)


def _split_plain(some: list[str], width: int) -> list[str] | None:
    """Return the cells of lines that are plain and as wide as the heading; else None."""
    text = "".join(some).replace("\r\n", "\n")
    odd = len(text) > LONGEST_CELL or '"' in text or "\r" in text or "\0" in text
    if odd or {line.count(",") for line in some} != {width - 1}:
        return None
    cells = text.removesuffix("\n").replace("\n", ",").split(",")
    return cells if len(cells) == width * len(some) and not (width == 1 and "" in cells) else None


def _read_by_csv(some: list[str], lines: _Counted, width: int, first: int) -> Iterator[Piece]:
    reader, line = csv.reader(chain(some, lines)), lines.count - len(some)
    before = line
    while batch := list(islice(reader, ROWS)):
        ragged = {}
        if {*map(len, batch)} != {width}:
            ends = [line + at for at in accumulate(map(_count_lines, batch))]
            numbered = [(row, at) for row, at in zip(batch, ends) if row]
            ragged = {at: number for at, (row, number) in enumerate(numbered) if len(row) != width}
            batch = [row if len(row) == width else (row + [""] * width)[:width] for row, _ in numbered]
        if batch:
            yield Piece([*chain.from_iterable(batch)], width, first, ragged)
        line = before + reader.line_num
        first += len(batch)


def _count_lines(row: list[str]) -> int:
    """Return how many of the file's lines a row takes."""
    return 1 + sum(len(LINE_END.findall(cell)) for cell in row if not cell.isprintable())


def read_rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the rows of a table as texts. Raises WorkbookError for a missing column, naming file and column."""
    with open_table(path) as file:
        reader = csv.DictReader(file)
        _require_columns(path, reader.fieldnames or (), needed)
        return [{key: (value or "").strip() for key, value in row.items() if key} for row in reader]


def _require_columns(path: Path, head: Sequence[str], needed: Sequence[str]) -> None:
    missing = [name for name in needed if name not in head]
    if missing:
        raise WorkbookError("profiling.no_column", path=str(path), columns=missing)


def read_columns(path: Path, *needed: str) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield the line that a piece begins in and its cells of these columns; nothing of a file that is absent. Errors as
    in `read_rows`. Lines are counted as if no cell had a line end."""
    if not path.is_file():
        return
    with open_table(path) as file:
        head, pieces = read_sheet(file)
        _require_columns(path, head, needed)
        for piece in pieces:
            yield piece.first + 2, [[*map(str.strip, piece.column(head.index(name)))] for name in needed]


def time_ns(cell: str, column: str, path: Path, line: int, *, least: int = 1 - LIMIT) -> int:
    """Return one cell as nanoseconds, of at least `least`; an error names file, line and column."""
    try:
        if least <= (time := to_nanoseconds(cell)) < LIMIT:
            return time
    except ValueError:
        pass
    raise WorkbookError("profiling.bad_cell", path=str(path), line=line, column=column, value=cell)


def _times_ns(cells: list[str], column: str, path: Path, lines: Iterable[int]) -> I64:
    """Return cells as nanoseconds (n,), as `time_ns` does one."""
    digits = "\n".join(cells).replace(".", "")
    exact = {cell[-4:-3] for cell in cells} == {"."} and len(digits) == sum(map(len, cells)) - 1  # one point in each
    if exact and digits.isascii() and digits.replace("\n", "").isdigit():
        times = [*map(int, digits.split("\n"))]
        if max(times) < LIMIT:
            return np.array(times, np.int64)
    return np.array([time_ns(cell, column, path, line) for cell, line in zip(cells, lines)], np.int64)


def count_replaced(path: Path) -> int:
    """Count the bytes of a table that are no UTF-8; 0 of one that cannot be read."""
    decoder, count = codecs.getincrementaldecoder("utf-8")("surrogateescape"), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(READ_SIZE):
                if decoder.getstate()[0] or not piece.isascii():
                    count += len(BAD.findall(decoder.decode(piece)))
        return count + len(decoder.getstate()[0])
    except OSError:
        return 0


def count_rows(path: Path) -> int:
    """Count the rows of a table that may be absent."""
    if not path.is_file():
        return 0
    with open_table(path) as file:
        return max(0, sum(1 for _ in filter(None, csv.reader(file))) - 1)


def read_kernels(path: Path) -> tuple[list[Event], bool]:
    """Return kernel_details.csv as device events, and whether it says that the device was a simulated one. `Step Id`
    and `Device_id` are there in some versions only."""
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
                start_ns=time_ns(row["Start Time(us)"], "Start Time(us)", path, line),
                duration_ns=time_ns(row["Duration(us)"], "Duration(us)", path, line, least=0),
                shape=format_shape(row.get("Input Shapes", "")),
                engine="" if kind == "communication" or core == "N/A" else core,
                dtype=format_dtypes(row.get("Input Data Types", "")),
                step=int(step) if is_number(step, 18) else None,
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
        if is_number(row["Step"], 18):
            times_of_step[int(row["Step"])] = {name: time_ns(row[name], name, path, line) for name in times}
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
    "input_types": ("Input Data Types",),
    "input_shapes": ("Input Shapes",),
    "formats": ("Input Formats",),
    "output_types": ("Output Data Types",),
    "output_shapes": ("Output Shapes",),
}
NUMBERS = {
    "duration_us": ("Duration(us)",),
    "mac": ("aic_mac_ratio", "mac_ratio"),
    "cube_read": ("aic_mte2_ratio", "mte2_ratio"),
    "vector": ("aiv_vec_ratio", "vec_ratio"),
    "vector_read": ("aiv_mte2_ratio",),
    "vector_write": ("aiv_mte3_ratio", "mte3_ratio"),
    "cube_utilisation": ("cube_utilization(%)",),
    "cycles": ("aic_total_cycles",),
    "core_us": ("aicore_time(us)", "aic_time(us)"),
    "blocks": ("Block Dim", "Block Num"),
    "mixed_blocks": ("Mix Block Dim", "Mix Block Num"),
}
#: What a unit is called that runs collectives
COLLECTIVE, HCOM = ("HCCL", "COMMUNICATION"), re.compile("hcom")


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
    """Return the table of the profile's output folder, or None where there is none or no kernel in it. Raises
    WorkbookError, naming the file, where it cannot be read."""
    path = folder / KERNELS
    if not path.is_file():
        return None
    ragged: list[int] = []
    bad_cells: list[str] = []
    with open_table(path) as file:
        head, pieces = read_sheet(file)
        places = {
            column: next(head.index(heading) for heading in headings if heading in head)
            for column, headings in (TEXTS | NUMBERS).items()
            if not set(head).isdisjoint(headings)
        }
        texts: dict[str, list[Texts]] = {column: [] for column in TEXTS if column in places}
        numbers: dict[str, list[F64]] = {column: [] for column in NUMBERS if column in places}
        for piece in pieces:
            ragged += piece.ragged.values()
            is_kernel = np.ones(len(piece), np.bool_)
            is_kernel[list(piece.ragged)] = False
            columns = {column: clean_texts(piece.column(places[column]), column) for column in texts}
            for column, is_collective in (("unit", COLLECTIVE.__contains__), ("name", HCOM.match)):
                if column in columns:
                    codes = [at for at, text in enumerate(columns[column].texts) if is_collective(text)]
                    is_kernel &= ~np.isin(columns[column].code, codes)
            for column, (distinct, code) in columns.items():
                texts[column].append(Texts(distinct, code[is_kernel]).drop_unused())
            for column, values in numbers.items():
                values.append(_read_numbers([*compress(piece.column(places[column]), is_kernel)], bad_cells))
    _require_columns(path, head, ("Duration(us)",))
    if not any(values.size for values in numbers["duration_us"]):
        if ragged:
            raise WorkbookError("profiling.bad_rows", path=str(path), rows=len(ragged), line=ragged[0])
        return None
    joined_texts = {column: Texts.join_columns(parts) for column, parts in texts.items()}
    joined = {column: np.concatenate(values) for column, values in numbers.items()}
    about_cells = (len(bad_cells), next(iter(bad_cells), ""))
    return KernelTable(path, joined_texts, joined, len(ragged), next(iter(ragged), 0), *about_cells)


def clean_texts(cells: Iterable[str], column: str) -> Texts:
    """Return a column's cells, empty where the file has none: of `inputs` as torch names dtypes, else as written."""
    texts, code = Texts.from_values(cells)
    clean = ["" if text.strip() in ABSENT else text.strip() for text in texts]
    return Texts([format_dtypes(text) for text in clean] if column == "inputs" else clean, code)


def _read_numbers(cells: list[str], bad_cells: list[str]) -> F64:
    """Return the cells' numbers, NaN where there are none; what is no number is noted."""
    is_number_there = np.array([cell not in ABSENT for cell in cells], np.bool_)
    with suppress(ValueError):
        numbers_there = np.array([*map(float, compress(cells, is_number_there))], np.float64)
        if np.isfinite(numbers_there).all():
            numbers = np.full(len(cells), nan)
            numbers[is_number_there] = numbers_there
            return numbers
    return np.array([_to_number(cell.strip(), bad_cells) for cell in cells], np.float64)


def _to_number(cell: str, bad_cells: list[str]) -> float:
    """Return one cell's number, NaN where it has none; what is no number is noted."""
    try:
        value = nan if cell in ABSENT else float(cell)
    except ValueError:
        value = inf
    if cell not in ABSENT and not isfinite(value):
        bad_cells.append(cell)
        return nan
    return value


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
    """Return the tables of the profile's output folder, or None where the allocator was not recorded. Raises
    WorkbookError, naming file and place, for what cannot be read."""
    path = folder / RECORD
    needed = ("Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)")
    moments, allocated, reserved = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0)]
    process = nan
    for first, (components, *cells) in read_columns(path, *needed):
        for wanted in (ALLOCATOR, PROCESS):
            is_wanted = [component == wanted for component in components]
            lines = [*compress(count(first), is_wanted)]
            moment, *sizes = ([*compress(column, is_wanted)] for column in cells)
            if wanted == PROCESS:
                process = float(np.fmax.reduce(_sizes_of(sizes[1], needed[3], path, lines), initial=process))
                continue
            held = [_sizes_of(column, name, path, lines) for column, name in zip(sizes, needed[2:])]
            is_told = ~np.isnan(held[0] + held[1])  # else the file tells nothing of this moment
            moments.append(_times_ns(moment, needed[1], path, lines)[is_told])
            allocated.append(held[0][is_told])
            reserved.append(held[1][is_told])
    at_ns = np.concatenate(moments)
    if not at_ns.size:
        return None
    modules: dict[str, float] = {}
    for first, columns in read_columns(folder / MODULES, needed[0], needed[3]):
        for line, (name, cell) in enumerate(zip(*columns), first):
            size = _size_of(cell, needed[3], folder / MODULES, line)
            modules[name] = max(modules.get(name, 0.0), size)
    order = np.argsort(at_ns, kind="stable")
    curve = at_ns[order], np.concatenate(allocated)[order], np.concatenate(reserved)[order]
    names, size_mb, from_ns, until_ns = _read_allocations(folder / MEMORY)
    return MemoryTables(*curve, names, size_mb, from_ns, until_ns, process, modules)


def _read_allocations(path: Path) -> tuple[tuple[str, ...], F64, I64, I64]:
    needed = ("Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)")
    names: list[str] = []
    sizes, starts, ends = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for first, (name, size, start, end) in read_columns(path, *needed):
        kib = _sizes_of(size, needed[1], path, range(first, first + len(size)))
        is_told = ~np.isnan(kib) & np.array([*map(bool, start)], np.bool_)
        # else its size is not told, or only its release: it was taken before
        lines = [*compress(count(first), is_told)]
        start, end = ([*compress(cells, is_told)] for cells in (start, end))
        is_released = [*map(bool, end)]
        until = np.full(len(end), FOREVER, np.int64)
        until[is_released] = _times_ns([*filter(None, end)], needed[3], path, compress(lines, is_released))
        names += map(intern, compress(name, is_told))
        sizes.append(kib[is_told] / 1024)
        starts.append(_times_ns(start, needed[2], path, lines))
        ends.append(until)
    return tuple(names), np.concatenate(sizes), np.concatenate(starts), np.concatenate(ends)


def _sizes_of(cells: list[str], column: str, path: Path, lines: Iterable[int]) -> F64:
    """Return cells' numbers (n,), as `_size_of` does one."""
    bad_cells: list[str] = []
    sizes = _read_numbers(cells, bad_cells)
    return np.array([_size_of(cell, column, path, line) for cell, line in zip(cells, lines)]) if bad_cells else sizes


def _size_of(cell: str, column: str, path: Path, line: int) -> float:
    """Return a cell's number, NaN where the file has none. Raises WorkbookError for what is no number."""
    bad_cells: list[str] = []
    size = _to_number(cell, bad_cells)
    if bad_cells:
        raise WorkbookError("profiling.bad_cell", path=str(path), line=line, column=column, value=cell)
    return size
