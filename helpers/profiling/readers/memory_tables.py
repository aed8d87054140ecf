"""memory_record.csv, operator_memory.csv and npu_module_mem.csv: what PyTorch's allocator on an NPU held, and for whom.

Sizes in MB as the files have them (an allocation in KB there). https://www.hiascend.com/document (Ascend PyTorch
Profiler, "memory_record", "operator_memory", "npu_module_mem")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from helpers.profiling.intervals import I64
from helpers.profiling.readers.tables import MEMORY, columns, rows, times_ns

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
    allocated, reserved = (_mbs([cells[row] for row in mine])[order] for cells in sizes)
    process = max((_mb(size) for one, size in zip(component, sizes[1]) if one == PROCESS), default=float("nan"))
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
    return tuple(names[row] for row in rows), _mbs([sizes[row] for row in rows]) / 1024, start, until


def _modules(path: Path) -> dict[str, float]:
    most: dict[str, float] = {}
    for row in rows(path, ("Component", "Total Reserved(MB)")) if path.is_file() else []:
        most[row["Component"]] = max(most.get(row["Component"], 0.0), _mb(row["Total Reserved(MB)"]))
    return most


def _mbs(texts: Sequence[str]) -> F64:
    try:
        return np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return np.array([_mb(text) for text in texts])


def _mb(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
