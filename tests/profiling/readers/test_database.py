"""The SQLite export: kinds, launches, shapes and steps; what is broken is one clear error."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.breakdown import break_down
from ascend_workbook.profiling.readers import read_step_table, read_trace

TEXTS = ("ProfilerStep#5", "aten::conv2d", "Conv2D", "Dequeue@Conv2D", "launch", "KERNEL_AICORE", "MEMCPY_ASYNC")
TEXTS += ("AI_CORE", "Conv2D1", "hcom_allReduce__1_0_1", "8,3,4,4;2,3,1,1", "float;float", "EVENT_WAIT")
NUMBER = {text: number for number, text in enumerate(TEXTS)}
SCHEMA = """
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,
    inputDtypes INTEGER, inputShapes INTEGER, type INTEGER);
CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, connectionId INTEGER, globalTaskId INTEGER, taskType INTEGER,
    streamId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, inputDataTypes INTEGER,
    inputShapes INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER);
CREATE TABLE OP_MEMORY (name INTEGER);
INSERT INTO STEP_TIME VALUES (5, 1000, 9000);
INSERT INTO CONNECTION_IDS VALUES (0, 70), (0, 71), (1, 71), (1, 70);
INSERT INTO OP_MEMORY VALUES (0), (0);
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One step: conv2d launches one kernel of 2 us; a collective of 3 us runs beside its second half."""
    output = tmp_path / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    n = NUMBER
    with closing(sqlite3.connect(output / "ascend_pytorch_profiler_0.db")) as database:
        database.executescript(SCHEMA)
        database.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", enumerate(TEXTS))
        api = [
            ("1000", "9000", 1, None, n["ProfilerStep#5"], None, None, 50001),
            ("1100", "2000", 1, None, n["aten::conv2d"], n["8,3,4,4;2,3,1,1"], n["float;float"], 50001),
            ("1200", "1900", 1, 0, n["Conv2D"], None, None, 50001),
            ("2100", "2200", 1, None, n["aten::conv2d"], None, None, 50001),
            ("1950", "1990", 2, 7, n["Dequeue@Conv2D"], None, None, 50002),
        ]
        database.executemany("INSERT INTO PYTORCH_API VALUES (?, ?, ?, ?, ?, ?, ?, ?)", api)
        database.execute("INSERT INTO CANN_API VALUES (1960, 1980, 2, 70, ?)", (n["launch"],))
        tasks = [
            (3000, 5000, 70, 1, n["KERNEL_AICORE"], 2),
            (4000, 7000, 72, 2, n["AI_CORE"], 3),
            (7500, 8000, 73, 3, n["MEMCPY_ASYNC"], 2),
            (8000, 8100, 74, 4, n["EVENT_WAIT"], 2),
        ]
        database.executemany("INSERT INTO TASK VALUES (?, ?, ?, ?, ?, ?)", tasks)
        row = (n["Conv2D1"], n["float;float"], n["8,3,4,4;2,3,1,1"])
        database.execute("INSERT INTO COMPUTE_TASK_INFO VALUES (?, 1, ?, ?)", row)
        database.execute("INSERT INTO COMMUNICATION_OP VALUES (?, 4000, 7000, 72, 9)", (n["hcom_allReduce__1_0_1"],))
        database.commit()
    return output.parent


def told(folder: Path, computing_us: float) -> None:
    with closing(sqlite3.connect(folder / "ASCEND_PROFILER_OUTPUT" / "analysis.db")) as database:
        database.execute("CREATE TABLE StepTraceTime (step TEXT, computing NUMERIC, free NUMERIC)")
        database.execute("INSERT INTO StepTraceTime VALUES ('5', ?, 1), ('', 9, 9), (NULL, 9, 9)", (computing_us,))
        database.commit()


def test_kinds_launches_and_steps(folder: Path) -> None:
    trace = read_trace(folder)
    counts = {
        kind: trace.count_events(kind) for kind in ("compute", "communication", "copy", "device_other", "host_op")
    }
    assert counts == {"compute": 1, "communication": 1, "copy": 1, "device_other": 2, "host_op": 3}
    assert trace.count_events("runtime") == 2
    assert [(one.number, one.start_ns, one.end_ns) for one in trace.steps] == [(5, 1000, 9000)]
    assert trace.memory_records == 2
    kernel = trace.where(("compute",))
    assert [trace.names[trace.name[by]] for by in trace.launched_by[kernel]] == ["Conv2D"]
    assert [trace.shapes[trace.shape[by]] for by in trace.launched_by[kernel]] == ["[8,3,4,4] [2,3,1,1]"]
    assert trace.launch_ns[kernel].tolist() == [1960]
    assert [trace.engines[trace.engine[at]] for at in kernel.nonzero()[0]] == ["KERNEL_AICORE"]
    assert [trace.dtypes[trace.dtype[by]] for by in trace.launched_by[kernel]] == ["float32 float32"]
    assert break_down(trace).steps[0].parts_ns == {
        "computing": 2000,
        "communication": 2000,
        "copy": 500,
        "loading": 0,
        "free": 3500,
    }, "a step that is alone lasts as long as its mark: the copy and what the host does behind it are in no other"


@pytest.mark.parametrize(("computing_us", "key"), [(2.0, "PRF306.same"), (9.0, "PRF306.apart")])
def test_the_table_of_steps_beside_it(folder: Path, computing_us: float, key: str) -> None:
    told(folder, computing_us)
    assert read_step_table(folder) == {5: {"Computing": round(computing_us * 1000), "Free": 1000}}
    report = analyse(folder)
    assert key in [one.key for part in report.parts for one in part.findings]
    assert report.tier == "npu"
    assert report.status is Status.LOOK


def test_it_is_only_read(folder: Path) -> None:
    path = next(folder.glob("*/*.db"))
    before = path.read_bytes()
    read_trace(folder)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_connections_that_are_no_numbers_launch_nothing(folder: Path) -> None:
    before = read_trace(folder).launched_by.tolist()
    with closing(sqlite3.connect(next(folder.glob("*/*.db")))) as database:
        database.execute("INSERT INTO CONNECTION_IDS VALUES (NULL, 70), (0, NULL), ('x', 71), (0.5, 71)")
        database.commit()
    assert read_trace(folder).launched_by.tolist() == before


def test_an_event_that_ends_before_it_begins_is_counted(folder: Path) -> None:
    with closing(sqlite3.connect(next(folder.glob("*/*.db")))) as database:
        database.execute("INSERT INTO CANN_API VALUES (1990, 1980, 2, 0, 0), (1990, NULL, 2, 0, 0)")
        database.commit()
    assert read_trace(folder).left_out == {"negative_duration": 2}


UNREAD = "profiling.unreadable"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda data: data[: len(data) // 2], UNREAD),
        (lambda _: b"no database at all, but long enough to look at" * 100, UNREAD),
        # SQLite's own words of a damaged schema hold the damaged name
        (
            lambda data: data.replace(b"TABLE OP_MEMORY", b"TABLF OP_MEMORY").replace(b"OP_MEMORY", b"OP_MEM\x81RY"),
            UNREAD,
        ),
        (lambda _: b"", "profiling.no_events"),
    ],
)
def test_a_broken_database(folder: Path, change: object, key: str) -> None:
    path = next(folder.glob("*/*.db"))
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(WorkbookError) as caught:
        read_trace(folder)
    assert caught.value.key == key
    assert caught.value.arguments["path"] == str(path)
