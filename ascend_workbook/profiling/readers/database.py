"""torch_npu's export as SQLite: `ascend_pytorch_profiler_<rank>.db`, beside it `analysis.db` with the step times.

Times are nanoseconds since the epoch. Texts stand once, in STRING_IDS. A task and the operator that launched it share
a connection id; the operator's own number names a set of these in CONNECTION_IDS. Files are opened to be read only."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers import ascend, tables
from ascend_workbook.profiling.readers.columns import Interned
from ascend_workbook.profiling.readers.kineto import match_numbers, span_kind
from ascend_workbook.profiling.readers.loading import I8, NO_KIND, number_kinds
from ascend_workbook.profiling.readers.records import UNKNOWN
from ascend_workbook.profiling.readers.values import format_dtypes
from ascend_workbook.profiling.trace import DEVICE_KINDS, I32, KINDS, UNTOLD, Texts, Trace, assemble_trace

PATTERN = "ascend_pytorch_profiler*.db"
ANALYSIS = "analysis.db"
BATCH = 50_000
#: ENUM_API_TYPE of PYTORCH_API -> the kind
API = {50001: "host_op", 50002: "runtime", 50003: "python", 50004: "annotation"}
KIND = {"step": "step", "CANN": "runtime", "Communication": "communication", "kernel": "compute"}
#: ENUM_API_TYPE of CANN_API -> how the text export begins such a call's name
LEVELS = {5000: "Runtime@", 5500: "Hccl@", 10000: "Node@", 15000: "Model@", 20000: "AscendCL@"}
LEVEL = f"CASE a.type {' '.join(f'WHEN {code} THEN {text!r}' for code, text in LEVELS.items())} ELSE '' END || "
STEPS = "SELECT 'ProfilerStep#' || id, startNs, endNs, 'step', 'step', NULL, NULL, NULL, NULL FROM STEP_TIME"
#: Each gives name, start, end, what tells the kind, lane, shapes, types (in some versions these two are exchanged),
#: connection, engine
QUERIES = {
    "PYTORCH_API": """SELECT n.value, CAST(a.startNs AS INTEGER), CAST(a.endNs AS INTEGER), a.type,
        'python ' || a.globalTid, s.value, d.value, a.connectionId, NULL
        FROM PYTORCH_API a LEFT JOIN STRING_IDS n ON n.id = a.name LEFT JOIN STRING_IDS s ON s.id = a.inputShapes
        LEFT JOIN STRING_IDS d ON d.id = a.inputDtypes""",
    "CANN_API": """SELECT n.value, a.startNs, a.endNs, 'CANN', 'CANN ' || a.globalTid, NULL, NULL, a.connectionId, NULL
        FROM CANN_API a LEFT JOIN STRING_IDS n ON n.id = a.name""",
    "TASK": """SELECT t.value, a.startNs, a.endNs, t.value, 'Ascend Hardware ' || a.streamId, NULL, NULL,
        a.connectionId, t.value FROM TASK a LEFT JOIN STRING_IDS t ON t.id = a.taskType""",
    "COMPUTE_TASK_INFO": """SELECT n.value, a.startNs, a.endNs, 'kernel', 'Ascend Hardware ' || a.streamId, s.value,
        d.value, a.connectionId, t.value FROM TASK a JOIN COMPUTE_TASK_INFO i ON i.globalTaskId = a.globalTaskId
        LEFT JOIN STRING_IDS n ON n.id = i.name LEFT JOIN STRING_IDS s ON s.id = i.inputShapes
        LEFT JOIN STRING_IDS d ON d.id = i.inputDataTypes LEFT JOIN STRING_IDS t ON t.id = a.taskType""",
    "COMMUNICATION_OP": """SELECT n.value, a.startNs, a.endNs, 'Communication', 'Communication ' || a.groupName, NULL,
        NULL, a.connectionId, NULL FROM COMMUNICATION_OP a LEFT JOIN STRING_IDS n ON n.id = a.opName""",
}
#: What a trace says of itself -> where it stands
ABOUT = {"chip": "SELECT name FROM NPU_INFO", "host_name": "SELECT hostUid FROM HOST_INFO"}
#: What else a query reads
NEEDED = {"COMPUTE_TASK_INFO": ("TASK",)}
#: Without these, what the device did is not in a database
DEVICE_TABLES = ("TASK", "COMPUTE_TASK_INFO")
#: A kernel is what COMPUTE_TASK_INFO lists. Tasks called AI_CORE that it does not list are pieces of collectives.
UNLESS = " WHERE a.globalTaskId NOT IN (SELECT globalTaskId FROM COMPUTE_TASK_INFO)"
SHAPES = re.compile(r'[\d,;\s"]*\d[\d,;\s"]*')


def find_database(folder: Path) -> Path | None:
    """Return the database of a profile's folder, or None."""
    return min((file for inner in (folder / ascend.OUTPUT, folder) for file in inner.glob(PATTERN)), default=None)


def read_database(path: Path) -> Trace:
    """Return the Trace of a database. Raises WorkbookError, naming the file, where it is broken or holds no event."""
    with open_database(path) as database:
        return _Reader(database).read_trace(path)


def read_step_times(path: Path) -> dict[int, dict[str, int]]:
    """Return what analysis.db says of each step, as tables.read_step_times; empty where it says nothing."""
    with open_database(path) as database:
        if "StepTraceTime" not in tables_of(database):
            return {}
        rows = database.execute("SELECT step, computing, free FROM StepTraceTime").fetchall()
    numbered_rows = [row for row in rows if str(row[0]).isdigit() and None not in row]
    return {
        int(step): {"Computing": round(computing * 1000), "Free": round(free * 1000)}
        for step, computing, free in numbered_rows
    }


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database to be read only; what fails there is a WorkbookError that names the file."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            yield database
    except (sqlite3.Error, UnicodeDecodeError) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause


def tables_of(database: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def columns_of(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of a table, which differ between versions; empty where it is not there."""
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}


class _Reader:
    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self.tables = tables_of(database)
        self.names, self.lanes, self.shapes = Interned(), Interned(), Interned({"": 0})
        self.dtypes, self.engines = Interned(), Interned()
        self.parts: list[tuple[Any, ...]] = []
        self.backwards = 0

    def read_trace(self, path: Path) -> Trace:
        for query in self._choose_queries():
            cursor = self.database.execute(query)
            while rows := cursor.fetchmany(BATCH):
                self._take_rows(rows)
        if not self.parts:
            raise WorkbookError("profiling.no_events", path=str(path))
        name, kind, lane, shape, start, duration, connection, dtype, engine = map(np.concatenate, zip(*self.parts))
        launched_by = self._find_launching_operators(kind, connection)
        self._inherit_shapes(shape, dtype, kind, lane, start, duration, launched_by)
        moment = np.full(kind.size, UNTOLD, np.int64)
        calls, device = np.flatnonzero(kind == KINDS.index("runtime")), np.flatnonzero(kind < len(DEVICE_KINDS))
        call = match_numbers(connection, calls, device)
        moment[device[call >= 0]] = start[call[call >= 0]]
        return assemble_trace(
            Texts(list(self.names), name),
            kind,
            Texts(list(self.lanes), lane),
            Texts(list(self.shapes), shape),
            launched_by,
            start,
            duration,
            source=str(path),
            dialect="ascend",
            left_out={"negative_duration": self.backwards} if self.backwards else {},
            memory_records=self._count_rows("OP_MEMORY"),
            about=self._read_about(),
            launch_ns=moment,
            dtype=Texts(list(self.dtypes), dtype),
            engine=Texts(list(self.engines), engine),
        )

    def _read_about(self) -> dict[str, object]:
        """Return what the database says of itself: the chip, the host, and which tables of a device's work it lacks."""
        about: dict[str, object] = {}
        for name, query in ABOUT.items():
            table = query.split()[-1]
            row = self.database.execute(f"{query} LIMIT 1").fetchone() if table in self.tables else None
            about |= {name: str(row[0])} if row and row[0] else {}
        missing = [table for table in DEVICE_TABLES if table not in self.tables]
        return {**about, "missing_tables": missing} if missing else about

    def _choose_queries(self) -> Iterator[str]:
        if "STEP_TIME" in self.tables:
            yield STEPS
        for table, query in QUERIES.items():
            if {table, "STRING_IDS", *NEEDED.get(table, ())} <= self.tables:
                if table == "CANN_API" and "type" in columns_of(self.database, table):
                    query = query.replace("n.value", f"{LEVEL}n.value", 1)
                yield query + (UNLESS if table == "TASK" and "COMPUTE_TASK_INFO" in self.tables else "")

    def _take_rows(self, rows: list[tuple[Any, ...]]) -> None:
        kinds = number_kinds([kind_of(row[3], row[0] or "") for row in rows])
        times = np.array([(row[1], row[2]) if None not in row[1:3] else (0, -1) for row in rows], np.int64)
        is_used = (kinds != NO_KIND) & (times[:, 1] >= times[:, 0])
        self.backwards += int(((kinds != NO_KIND) & ~is_used).sum())
        count = len(rows)
        part = (
            self.names.encode_keys((row[0] or "" for row in rows), count),
            kinds,
            self.lanes.encode_keys((row[4] or "" for row in rows), count),
            self.shapes.encode_keys((_choose_shape(row[5], row[6]) for row in rows), count),
            times[:, 0],
            times[:, 1] - times[:, 0],
            np.array([UNKNOWN if row[7] is None else row[7] for row in rows], np.int64),
            self.dtypes.encode_keys((format_dtypes(row[5]) or format_dtypes(row[6]) for row in rows), count),
            self.engines.encode_keys((row[8] or "" for row in rows), count),
        )
        self.parts.append(tuple(column[is_used] for column in part))

    def _inherit_shapes(
        self, shape: I32, dtype: I32, kind: I8, lane: I32, start: I64, duration: I64, launched_by: I32
    ) -> None:
        """Give the operators that launch the shapes of the nearest around them, for they have none of their own."""
        hosts = np.flatnonzero(kind == KINDS.index("host_op"))
        wanted = np.unique(launched_by[launched_by >= 0])
        for thread in nest_by_lane(lane[hosts], start[hosts], duration[hosts], hosts).values():
            thread.inherit_values(shape, [not text for text in self.shapes], wanted)
            thread.inherit_values(dtype, [not text for text in self.dtypes], wanted)

    def _find_launching_operators(self, kind: I8, connection: I64) -> I32:
        """Return for each device task the operator that launched it, by their connection."""
        launched = np.full(kind.size, -1, np.int32)
        if "CONNECTION_IDS" not in self.tables:
            return launched
        whole = "typeof(id) = 'integer' AND typeof(connectionId) = 'integer'"
        pairs = self.database.execute(f"SELECT id, connectionId FROM CONNECTION_IDS WHERE {whole}").fetchall()
        owner, connection_ids = np.array(pairs, np.int64).reshape(-1, 2).T
        hosts = np.flatnonzero(kind == KINDS.index("host_op"))
        device = np.flatnonzero(np.isin(kind, number_kinds(("compute", "copy", "communication"))))
        both = np.concatenate([connection[hosts], owner])
        host = match_numbers(both, np.arange(hosts.size), np.arange(hosts.size, both.size))
        connection_ids, host = connection_ids[host >= 0], host[host >= 0]
        both = np.concatenate([connection_ids, connection[device]])
        pair = match_numbers(both, np.arange(connection_ids.size), np.arange(connection_ids.size, both.size))
        launched[device[pair >= 0]] = hosts[host[pair[pair >= 0]]]
        return launched

    def _count_rows(self, table: str) -> int:
        row = self.database.execute(f"SELECT COUNT(*) FROM {table}").fetchone() if table in self.tables else (0,)
        return int(row[0])


def kind_of(value: int | str | None, name: str) -> str | None:
    """Return the kind of a row by what tells it, or None."""
    if isinstance(value, int):
        kind = API.get(value)
        span = span_kind(name) if kind in ("host_op", "annotation") else None
        return None if span == "step" else span or kind  # STEP_TIME tells the steps
    return KIND.get(value or "", "copy" if value in ascend.COPY else "device_other")


def _choose_shape(first: str | None, second: str | None) -> str:
    text = next((candidate for candidate in (first, second) if candidate and SHAPES.fullmatch(candidate)), "")
    return tables.format_shape(text)
