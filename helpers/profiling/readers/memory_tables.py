"""memory_record.csv, operator_memory.csv and npu_module_mem.csv: what PyTorch's allocator on an NPU held, and for whom.

Sizes in MB as the files have them (an allocation in KB there). https://www.hiascend.com/document (Ascend PyTorch
Profiler, "memory_record", "operator_memory", "npu_module_mem")
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from helpers.profiling.intervals import I64
from helpers.profiling.readers.tables import MEMORY, rows, time_ns

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
    found = rows(path, needed) if path.is_file() else []
    mine = [(line, row) for line, row in enumerate(found, start=2) if row["Component"] == ALLOCATOR]
    if not mine:
        return None
    at = np.array([time_ns(row, "Timestamp(us)", path, line) for line, row in mine], np.int64)
    order = np.argsort(at, kind="stable")
    allocated, reserved = (np.array([_mb(row[name]) for _, row in mine])[order] for name in needed[2:])
    process = max((_mb(row[needed[3]]) for row in found if row["Component"] == PROCESS), default=float("nan"))
    allocations = _allocations(folder / MEMORY)
    return MemoryTables(at[order], allocated, reserved, *allocations, process, _modules(folder / MODULES))


def _allocations(path: Path) -> tuple[tuple[str, ...], F64, I64, I64]:
    needed = ("Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)")
    found = [(line, row) for line, row in enumerate(rows(path, needed) if path.is_file() else [], start=2)]
    found = [(line, row) for line, row in found if row[needed[2]]]  # taken before the recording: only its release
    start = np.array([time_ns(row, needed[2], path, line) for line, row in found], np.int64)
    until = [time_ns(row, needed[3], path, line) if row[needed[3]] else FOREVER for line, row in found]
    size = np.array([_mb(row[needed[1]]) / 1024 for _, row in found])
    return tuple(row["Name"] for _, row in found), size, start, np.array(until, np.int64)


def _modules(path: Path) -> dict[str, float]:
    most: dict[str, float] = {}
    for row in rows(path, ("Component", "Total Reserved(MB)")) if path.is_file() else []:
        most[row["Component"]] = max(most.get(row["Component"], 0.0), _mb(row["Total Reserved(MB)"]))
    return most


def _mb(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
