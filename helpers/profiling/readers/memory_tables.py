"""memory_record.csv, operator_memory.csv and npu_module_mem.csv: what PyTorch's allocator on an NPU held, and for whom.

Sizes in MB as the files have them (an allocation in KB there). https://www.hiascend.com/document (Ascend PyTorch
Profiler, "memory_record", "operator_memory", "npu_module_mem")
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

import numpy as np

from helpers.errors import WorkbookError
from helpers.profiling.intervals import I64
from helpers.profiling.readers.cells import F64, Cells
from helpers.profiling.readers.tables import MEMORY, columns, times_ns

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


def memory_tables(folder: Path) -> MemoryTables | None:
    """The tables of the profile's output folder, or None where the allocator was not recorded.

    Raises WorkbookError, naming file and place, for what cannot be read.
    """
    path = folder / RECORD
    needed = ("Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)")
    times: list[I64] = []
    held: tuple[list[F64], list[F64]] = ([], [])
    process = [nan]
    for component, told, *sizes in columns(path, *needed) if path.is_file() else ():
        mine = component.equal(ALLOCATOR)
        times.append(times_ns(told.where(mine), needed[1], path))
        for found, cells, name in zip(held, sizes, needed[2:]):
            found.append(_sizes(cells.where(mine), name, path))
        process += _sizes(sizes[1].where(component.equal(PROCESS)), needed[3], path).tolist()
    if not times:
        return None
    at = np.concatenate(times)
    order = np.argsort(at, kind="stable")
    allocated, reserved = (np.concatenate(pieces)[order] for pieces in held)
    known = ~(np.isnan(allocated) | np.isnan(reserved))  # of the others the file tells nothing
    if not known.any():
        return None
    at, allocated, reserved = at[order][known], allocated[known], reserved[known]
    most, allocations = float(np.fmax.reduce(process)), _allocations(folder / MEMORY)
    return MemoryTables(at, allocated, reserved, *allocations, most, _modules(folder / MODULES))


def _allocations(path: Path) -> tuple[tuple[str, ...], F64, I64, I64]:
    needed = ("Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)")
    names: list[str] = []
    found: list[tuple[F64, I64, I64]] = [(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))]
    for piece in columns(path, *needed) if path.is_file() else ():
        started = piece[2].filled()  # taken before the recording: only its release
        name, size, start, end = (column.where(started) for column in piece)
        until = np.full(end.begins.size, FOREVER, np.int64)
        until[end.filled()] = times_ns(end.where(end.filled()), needed[3], path)
        texts, code = name.texts()
        names += map(texts.__getitem__, code.tolist())
        found.append((_sizes(size, needed[1], path) / 1024, times_ns(start, needed[2], path), until))
    sizes, starts, ends = map(np.concatenate, zip(*found))
    return tuple(names), sizes, starts, ends


def _modules(path: Path) -> dict[str, float]:
    needed = ("Component", "Total Reserved(MB)")
    most: dict[str, float] = {}
    for name, cells in columns(path, *needed) if path.is_file() else ():
        texts, code = name.texts()
        for at, size in zip(code.tolist(), _sizes(cells, needed[1], path).tolist()):
            most[texts[at]] = max(most.get(texts[at], 0.0), size)
    return most


def _sizes(cells: Cells, column: str, path: Path) -> F64:
    """The cells of a column as numbers, NaN where the file has none. Raises WorkbookError for what is no number."""
    return cells.numbers(lambda cell, row: _size(cell, column, path, row + 2))


def _size(text: str, column: str, path: Path, line: int) -> float:
    try:
        size = float(text)
    except ValueError:
        size = nan
    if not isfinite(size):
        raise WorkbookError("profiling.bad_cell", path=str(path), line=line, column=column, value=text)
    return size
