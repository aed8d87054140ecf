"""memory_record.csv, operator_memory.csv and npu_module_mem.csv: what PyTorch's allocator on an NPU held, and for whom.

Sizes in MB as the files have them (an allocation in KB there). https://www.hiascend.com/document (Ascend PyTorch
Profiler, "memory_record", "operator_memory", "npu_module_mem")
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

import numpy as np
import numpy.typing as npt

from helpers.errors import WorkbookError
from helpers.profiling.intervals import I64
from helpers.profiling.readers.tables import ABSENT, MEMORY, columns, times_ns

RECORD, MODULES = "memory_record.csv", "npu_module_mem.csv"
F64 = npt.NDArray[np.float64]
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
    component, told, *sizes = columns(path, *needed) if path.is_file() else [()] * len(needed)
    mine = [row for row, one in enumerate(component) if one == ALLOCATOR]
    if not mine:
        return None
    at = times_ns([told[row] for row in mine], [row + 2 for row in mine], needed[1], path)
    order = np.argsort(at, kind="stable")
    allocated, reserved = (_sizes(cells, mine, name, path)[order] for cells, name in zip(sizes, needed[2:]))
    if np.isnan(allocated).all():
        return None
    whole = [row for row, one in enumerate(component) if one == PROCESS]
    process = float(np.fmax.reduce(_sizes(sizes[1], whole, needed[3], path), initial=nan))
    allocations = _allocations(folder / MEMORY)
    return MemoryTables(at[order], allocated, reserved, *allocations, process, _modules(folder / MODULES))


def _allocations(path: Path) -> tuple[tuple[str, ...], F64, I64, I64]:
    needed = ("Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)")
    names, sizes, starts, ends = columns(path, *needed) if path.is_file() else [()] * len(needed)
    rows = [row for row, start in enumerate(starts) if start]  # taken before the recording: only its release
    start = times_ns([starts[row] for row in rows], [row + 2 for row in rows], needed[2], path)
    released = np.array([bool(ends[row]) for row in rows], np.bool_)
    until = np.full(len(rows), FOREVER, np.int64)
    known = [row for row in rows if ends[row]]
    until[released] = times_ns([ends[row] for row in known], [row + 2 for row in known], needed[3], path)
    return tuple(names[row] for row in rows), _sizes(sizes, rows, needed[1], path) / 1024, start, until


def _modules(path: Path) -> dict[str, float]:
    needed = ("Component", "Total Reserved(MB)")
    names, cells = columns(path, *needed) if path.is_file() else [()] * len(needed)
    most: dict[str, float] = {}
    for name, size in zip(names, _sizes(cells, range(len(cells)), needed[1], path).tolist()):
        most[name] = max(most.get(name, 0.0), size)
    return most


def _sizes(cells: Sequence[str], rows: Sequence[int], column: str, path: Path) -> F64:
    """The column's numbers in these rows, NaN where the file has none. Raises WorkbookError for what is no number."""
    texts = [cells[row] for row in rows]
    with suppress(ValueError):
        found = np.fromiter(map(float, texts), np.float64, len(texts))
        if np.isfinite(found).all():
            return found
    return np.array([_size(text, column, path, row + 2) for text, row in zip(texts, rows)])


def _size(text: str, column: str, path: Path, line: int) -> float:
    if text in ABSENT:
        return nan
    try:
        size = float(text)
    except ValueError:
        size = nan
    if not isfinite(size):
        raise WorkbookError("profiling.bad_cell", path=str(path), line=line, column=column, value=text)
    return size
