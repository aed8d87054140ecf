"""memory_record.csv, operator_memory.csv and npu_module_mem.csv: what PyTorch's allocator on an NPU held, and for whom.

Sizes in MB as the files have them (an allocation in KB there). https://www.hiascend.com/document (Ascend PyTorch
Profiler, "memory_record", "operator_memory", "npu_module_mem")
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.cells import F64, Cells
from ascend_workbook.profiling.readers.tables import MEMORY, read_columns, times_ns

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
