"""What the text export holds as tables, of a database: kernels and their metrics, the allocator, collectives, links.

Sizes are bytes there and times nanoseconds; what a table lacks in some versions is told as the text export tells it.
TASK_PMU_INFO names a metric a row; MEMORY_RECORD and OP_MEMORY are the allocator's, NPU_MEM and NPU_MODULE_MEM what the
driver sees; analysis.db beside it has the links and packets of communication.json."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.database import columns_of, open_database, tables_of
from ascend_workbook.profiling.readers.tables import (
    ALLOCATOR,
    F64,
    FOREVER,
    HCOM,
    NUMBERS,
    KernelTable,
    Mask,
    MemoryTables,
    clean_texts,
)
from ascend_workbook.profiling.trace import Texts

MIB = 2**20
#: Our column of a kernel -> the column of COMPUTE_TASK_INFO, a number in STRING_IDS
NAMED = {
    "name": "name",
    "type": "opType",
    "unit": "taskType",
    "inputs": "inputDataTypes",
    "input_types": "inputDataTypes",
    "input_shapes": "inputShapes",
    "formats": "inputFormats",
    "output_types": "outputDataTypes",
    "output_shapes": "outputShapes",
}
COUNTED = {"blocks": "blockDim", "mixed_blocks": "mixBlockDim"}
#: What TASK_PMU_INFO and the text export call a metric -> ours
METRICS = {heading: ours for ours, headings in NUMBERS.items() for heading in headings} | {"aic_total_time": "core_us"}
#: Metrics that are nanoseconds in a database
NANOSECONDS = ("core_us",)
#: HCCL's data types -> bytes of an element; ENUM_HCCL_DATA_TYPE names their numbers
HCCL_BYTES = {
    **dict.fromkeys(("INT8", "UINT8"), 1),
    **dict.fromkeys(("INT16", "UINT16", "FP16", "BFP16"), 2),
    **dict.fromkeys(("INT32", "UINT32", "FP32"), 4),
    **dict.fromkeys(("INT64", "UINT64", "FP64"), 8),
    "INT128": 16,
}


def read_kernels(path: Path) -> KernelTable | None:
    """Return the kernels of a database as the table of kernels that the text export has, None where it lists none.
    Raises WorkbookError, naming the file, where it cannot be read."""
    with open_database(path) as database:
        if not {"COMPUTE_TASK_INFO", "TASK", "STRING_IDS"} <= tables_of(database):
            return None
        there = columns_of(database, "COMPUTE_TASK_INFO")
        texts = {ours: column for ours, column in NAMED.items() if column in there}
        counts = {ours: column for ours, column in COUNTED.items() if column in there}
        asked = ", ".join(f"i.{column}" for column in (*texts.values(), *counts.values()))
        query = f"""SELECT i.globalTaskId, t.startNs, t.endNs, {asked} FROM TASK t
            JOIN COMPUTE_TASK_INFO i ON i.globalTaskId = t.globalTaskId ORDER BY t.startNs"""
        rows = [row for row in database.execute(query) if _is_span(row[1], row[2])]
        words = dict(database.execute("SELECT id, value FROM STRING_IDS"))
        metrics = _read_metrics(database, [row[0] for row in rows], words)
    columns = list(zip(*rows))
    if not columns:
        return None
    cells = {ours: [str(words.get(code) or "") for code in columns[at]] for at, ours in enumerate(texts, 3)}
    is_kernel = np.array([not HCOM.match(name) for name in cells.get("name", [""] * len(rows))], np.bool_)
    if not is_kernel.any():
        return None
    numbers = {"duration_us": (np.array(columns[2], np.int64) - np.array(columns[1], np.int64)) / 1e3, **metrics}
    for at, ours in enumerate(counts, 3 + len(texts)):
        numbers[ours] = np.array([count if isinstance(count, int) else nan for count in columns[at]], np.float64)
    read_texts = {ours: _keep_texts(clean_texts(values, ours), is_kernel) for ours, values in cells.items()}
    return KernelTable(path, read_texts, {name: values[is_kernel] for name, values in numbers.items()})


def _is_span(start: object, end: object) -> bool:
    return isinstance(start, int) and isinstance(end, int) and end >= start


def _keep_texts(column: Texts, is_kernel: Mask) -> Texts:
    return Texts(column.texts, column.code[is_kernel]).drop_unused()


def _read_metrics(database: sqlite3.Connection, tasks: Sequence[int], words: dict[int, str]) -> dict[str, F64]:
    """Return the metrics that TASK_PMU_INFO has of these tasks, NaN where it has none, by our names."""
    if not {"globalTaskId", "name", "value"} <= columns_of(database, "TASK_PMU_INFO"):
        return {}
    codes = {code: METRICS[word] for code, word in words.items() if word in METRICS}
    place = {task: at for at, task in enumerate(tasks)}
    metrics = {ours: np.full(len(tasks), nan) for ours in codes.values()}
    for task, name, value in database.execute("SELECT globalTaskId, name, value FROM TASK_PMU_INFO"):
        if name in codes and task in place and isinstance(value, (int, float)):
            metrics[codes[name]][place[task]] = value / 1000 if codes[name] in NANOSECONDS else value
    return {ours: values for ours, values in metrics.items() if not np.isnan(values).all()}


def read_memory(path: Path) -> MemoryTables | None:
    """Return what the allocator held by a database, None where it was not recorded. Raises WorkbookError, naming the
    file, where it cannot be read."""
    with open_database(path) as database:
        if not {"MEMORY_RECORD", "STRING_IDS"} <= tables_of(database):
            return None
        held = database.execute(
            """SELECT r.timestamp, r.totalAllocated, r.totalReserved FROM MEMORY_RECORD r
            JOIN STRING_IDS n ON n.id = r.component WHERE n.value = ? AND typeof(r.timestamp) = 'integer'
            AND typeof(r.totalAllocated) IN ('integer', 'real') AND typeof(r.totalReserved) IN ('integer', 'real')
            ORDER BY r.timestamp""",
            (ALLOCATOR,),
        ).fetchall()
        if not held:
            return None
        names, size_mb, from_ns, until_ns = _read_allocations(database)
        process_mb, modules_mb = _read_process(database), _read_modules(database)
    at_ns, allocated, reserved = zip(*held)
    allocated_mb, reserved_mb = (np.array(sizes, np.float64) / MIB for sizes in (allocated, reserved))
    curve = np.array(at_ns, np.int64), allocated_mb, reserved_mb
    return MemoryTables(*curve, names, size_mb, from_ns, until_ns, process_mb, modules_mb)


def _read_allocations(database: sqlite3.Connection) -> tuple[tuple[str, ...], F64, I64, I64]:
    """Return name, size in MB, begin and end of each allocation that began while recording."""
    rows: list[tuple[Any, ...]] = []
    if {"name", "size", "allocationTime", "releaseTime"} <= columns_of(database, "OP_MEMORY"):
        rows = database.execute(
            """SELECT n.value, m.size, m.allocationTime, m.releaseTime FROM OP_MEMORY m
            LEFT JOIN STRING_IDS n ON n.id = m.name
            WHERE typeof(m.size) IN ('integer', 'real') AND typeof(m.allocationTime) = 'integer'"""
        ).fetchall()
    names = tuple(str(row[0] or "") for row in rows)
    sizes = np.array([row[1] for row in rows], np.float64) / MIB
    ends = [row[3] if isinstance(row[3], int) else FOREVER for row in rows]
    return names, sizes, np.array([row[2] for row in rows], np.int64), np.array(ends, np.int64)


def _read_process(database: sqlite3.Connection) -> float:
    """Return the most that the process held of the device's memory in MB, NaN where it is not told."""
    if not {"type", "hbm", "ddr"} <= columns_of(database, "NPU_MEM"):
        return nan
    query = """SELECT MAX(m.hbm + m.ddr) FROM NPU_MEM m JOIN STRING_IDS n ON n.id = m.type WHERE n.value = 'app'"""
    most = database.execute(query).fetchone()[0]
    return float(most) / MIB if isinstance(most, (int, float)) else nan


def _read_modules(database: sqlite3.Connection) -> dict[str, float]:
    """Return the most that each of CANN's components held, in MB."""
    if not {"NPU_MODULE_MEM", "ENUM_MODULE"} <= tables_of(database):
        return {}
    query = """SELECT n.name, MAX(m.totalReserved) FROM NPU_MODULE_MEM m JOIN ENUM_MODULE n ON n.id = m.moduleId
        WHERE typeof(m.totalReserved) IN ('integer', 'real') GROUP BY n.name"""
    return {str(name): float(most) / MIB for name, most in database.execute(query)}


def read_sizes(database: sqlite3.Connection) -> dict[int, int]:
    """Return the bytes of each collective by its number in COMMUNICATION_OP: its count times its type's; of others
    nothing."""
    if not {"opId", "count", "dataType"} <= columns_of(database, "COMMUNICATION_OP"):
        return {}
    if "ENUM_HCCL_DATA_TYPE" not in tables_of(database):
        return {}
    bytes_of = {code: HCCL_BYTES.get(str(name), 0) for code, name in _pairs(database, "ENUM_HCCL_DATA_TYPE")}
    rows = database.execute("SELECT opId, count, dataType FROM COMMUNICATION_OP").fetchall()
    return {
        int(operation): int(count) * bytes_of[kind]
        for operation, count, kind in rows
        if isinstance(count, int) and count >= 0 and bytes_of.get(kind)
    }


def _pairs(database: sqlite3.Connection, table: str) -> Iterable[tuple[int, str]]:
    return database.execute(f"SELECT id, name FROM {table}").fetchall()


def read_stated(path: Path) -> dict[str, object]:
    """Return what META_DATA says that profiler_metadata.json says too, by name; a value that is no JSON is left out."""
    with open_database(path) as database:
        if not {"name", "value"} <= columns_of(database, "META_DATA"):
            return {}
        rows = database.execute("SELECT name, value FROM META_DATA").fetchall()
    metadata: dict[str, object] = {}
    for name, value in rows:
        try:
            metadata[str(name)] = json.loads(value)
        except (TypeError, ValueError, RecursionError):
            continue
    return metadata


#: Columns of analysis.db -> what communication.json and communication_matrix.json call them
LINK = {"transport_type": "Transport Type", "transit_size": "Transit Size(MB)", "transit_time": "Transit Time(ms)"}
TRANSPORT = {"transit_size": "Transit Size(MB)", "transit_time": "Transit Time(ms)"}
TRANSPORT |= {"bandwidth": "Bandwidth(GB/s)", "large_packet_ratio": "Large Packet Ratio"}
Operations = dict[str, Any]


def read_packets(path: Path) -> Operations:
    """Return what analysis.db says of the packets of each collective, as communication.json says it."""
    operations: Operations = {}
    for row in _named_rows(path, "CommAnalyzerBandwidth"):
        operation = _operation_of(operations, row)
        by_transport = operation.setdefault("Communication Bandwidth Info", {})
        about = {heading: row.get(column) for column, heading in TRANSPORT.items()}
        transport = by_transport.setdefault(str(row.get("transport_type")), {**about, "Size Distribution": {}})
        if row.get("package_size"):
            transport["Size Distribution"][str(row["package_size"])] = [row.get("count"), row.get("total_duration")]
    return operations


def read_links(path: Path) -> Operations:
    """Return what analysis.db says of the links of each collective, as communication_matrix.json says it."""
    operations: Operations = {}
    for row in _named_rows(path, "CommAnalyzerMatrix"):
        ends = f"{row.get('src_rank')}-{row.get('dst_rank')}"
        _operation_of(operations, row)[ends] = {heading: row.get(column) for column, heading in LINK.items()}
    return operations


def _operation_of(operations: Operations, row: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a row's collective, made where it is the first."""
    kinds = operations.setdefault(str(row.get("step")), {}).setdefault(str(row.get("type")), {})
    return dict.setdefault(kinds, f"{row.get('hccl_op_name')}@{row.get('group_name')}", {})


def _named_rows(path: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table by the names of its columns, none where it is not there."""
    with open_database(path) as database:
        if table not in tables_of(database):
            return []
        cursor = database.execute(f"SELECT * FROM {table}")
        names = [str(column[0]) for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor]
