"""A database tells what the text export tells: kernels and metrics, the allocator, sizes, links, the environment."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Report
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.facts import load_profile
from ascend_workbook.profiling.ranks import reading
from ascend_workbook.profiling.ranks.collectives import calls_at
from ascend_workbook.profiling.readers import exported
from ascend_workbook.profiling.readers.tables import FOREVER, read_kernel_table, read_memory_tables
from tests.profiling.readers.test_database import folder as folder

MORE = """
DROP TABLE COMPUTE_TASK_INFO;
DROP TABLE OP_MEMORY;
DROP TABLE COMMUNICATION_OP;
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER,
    taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,
    outputDataTypes INTEGER, outputShapes INTEGER);
CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);
CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER);
CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER);
CREATE TABLE NPU_MEM (type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER);
CREATE TABLE NPU_MODULE_MEM (moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC);
CREATE TABLE ENUM_MODULE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,
    opId INTEGER, dataType INTEGER, count NUMERIC);
CREATE TABLE META_DATA (name TEXT, value TEXT);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
INSERT INTO STRING_IDS VALUES (100, 'AI_CORE'), (101, 'AI_VECTOR_CORE'), (102, 'Conv2D'), (103, 'Cast'),
    (104, 'cast1'), (105, 'NCHW'), (106, 'DT_BF16;FLOAT'), (107, '8,3;3,4'), (108, '8,4'), (109, 'FLOAT'),
    (110, 'aic_mac_ratio'), (111, 'aiv_mte2_ratio'), (112, 'aic_total_cycles'), (113, 'PTA'), (114, 'APP'),
    (115, 'aten::mm'), (116, 'app'), (117, 'device'), (118, 'N/A'), (119, 'hcom_send__1_2_1');
INSERT INTO TASK VALUES (5000, 5500, 75, 5, 101, 2), (5600, 5900, 76, 6, 100, 2);
INSERT INTO COMPUTE_TASK_INFO VALUES (2, 1, 20, 0, 100, 102, 105, 106, 107, 109, 108),
    (104, 5, 8, 0, 101, 103, 105, 109, 108, 106, 108), (119, 6, 1, 0, 100, 118, 118, 118, 118, 118, 118);
INSERT INTO TASK_PMU_INFO VALUES (1, 110, 0.9), (1, 111, 0), (1, 112, 3600), (5, 110, 0), (5, 111, 0.85), (9, 110, 1),
    (5, 112, 'x');
INSERT INTO MEMORY_RECORD VALUES (113, 4000, 31457280, 41943040), (113, 3000, 20971520, 41943040),
    (114, 3500, 1, 2), (113, 3600, NULL, 4), (113, 3700, 'x', 4);
INSERT INTO OP_MEMORY VALUES (115, 1048576, 3100, NULL), (115, 2097152, 3200, 3900), (115, NULL, 3300, NULL),
    (115, 8, NULL, 3950);
INSERT INTO NPU_MEM VALUES (116, 0, 104857600, 3000), (117, 0, 209715200, 3000);
INSERT INTO ENUM_MODULE VALUES (0, 'HCCL'), (1, 'RUNTIME');
INSERT INTO NPU_MODULE_MEM VALUES (0, 3000, 10485760), (0, 3100, 20971520), (1, 3000, 0);
INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (3, 'FP16'), (4, 'FP32'), (65535, 'INVALID_TYPE');
INSERT INTO COMMUNICATION_OP VALUES (9, 4000, 7000, 72, 9, 0, 4, 1000), (9, 7100, 7200, 72, 9, 1, 3, 10),
    (9, 7300, 7400, 72, 9, 2, 65535, 10);
INSERT INTO META_DATA VALUES ('SCHEMA_VERSION', '1.0.0'), ('ENV_VARIABLES', '{"HCCL_BUFFSIZE": "120"}'), ('x', '{');
INSERT INTO NPU_INFO VALUES (0, 'Ascend910B3');
"""


@pytest.fixture
def full(folder: Path) -> Path:
    """The same with all tables of level 2."""
    change(folder, MORE)
    return folder


def change(folder: Path, script: str) -> None:
    with closing(sqlite3.connect(next(folder.glob("*/*.db")))) as database:
        database.executescript(script)


def findings_of(report: Report) -> list[Finding]:
    return [finding for part in report.parts for finding in part.findings]


def keys_of(report: Report) -> set[str]:
    return {finding.key for finding in findings_of(report)}


def test_the_kernels_and_their_metrics(full: Path) -> None:
    table = load_profile(full).kernels
    assert table is not None and len(table) == 2, "a collective's task is none"
    assert [table.texts["type"].texts[at] for at in table.texts["type"].code] == ["Conv2D", "Cast"]
    assert [table.texts["inputs"].texts[at] for at in table.texts["inputs"].code] == ["bfloat16 float32", "float32"]
    assert table.numbers["duration_us"].tolist() == [2, 0.5]
    assert table.numbers["blocks"].tolist() == [20, 8]
    assert table.numbers["mac"].tolist() == [0.9, 0]
    assert table.numbers["vector_read"].tolist() == [0, 0.85]
    np.testing.assert_equal(table.numbers["cycles"], [3600, np.nan])
    report = analyse(full)
    assert "PRF323.bounds" in keys_of(report) and "PRF323.no_table" not in keys_of(report)
    bounds = next(finding for finding in findings_of(report) if finding.key == "PRF323.bounds")
    assert (bounds.args["computing"], bounds.args["memory"]) == (80.0, 20.0)


def test_what_the_allocator_held(full: Path) -> None:
    memory = load_profile(full).memory
    assert memory is not None
    assert memory.at_ns.tolist() == [3000, 4000], "in order of time, without what is no number"
    assert (memory.allocated_mb.tolist(), memory.reserved_mb.tolist()) == ([20, 30], [40, 40])
    assert (memory.names, memory.size_mb.tolist()) == (("aten::mm", "aten::mm"), [1, 2])
    assert memory.until_ns.tolist() == [FOREVER, 3900]
    assert (memory.process_mb, memory.modules_mb) == (100, {"HCCL": 20, "RUNTIME": 0})
    assert {"PRF324.peak", "PRF324.curve"} <= keys_of(analyse(full))


def test_how_much_collectives_send(full: Path) -> None:
    assert calls_at(full, None).sent_bytes.tolist() == [4000, 20, -1]


def test_the_environment_and_the_chip(full: Path) -> None:
    profile = load_profile(full)
    assert profile.metadata == {"ENV_VARIABLES": {"HCCL_BUFFSIZE": "120"}}
    assert profile.trace.about["chip"] == "Ascend910B3"
    buffer = next(finding for finding in findings_of(analyse(full)) if finding.rule == "PRF342")
    assert (buffer.key, buffer.args["mb"]) == ("PRF342.change", 120)


def test_links_and_packets(full: Path) -> None:
    with closing(sqlite3.connect(full / "ASCEND_PROFILER_OUTPUT" / "analysis.db")) as database:
        database.executescript("""
        CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT,
            transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC,
            package_size NUMERIC, count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT);
        CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT,
            transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT);
        INSERT INTO CommAnalyzerBandwidth VALUES ('a', '7', 'HCCS', 20, 2, 10, 0, 2, 10, 2, 'step5', 'collective'),
            ('a', '7', 'SDMA', 20, 2, 10, 0, 0, 0, 0, 'step5', 'collective'),
            ('b', '7', 'HCCS', 20, 2, 10, 0, 2, 5, 1, 'step5', 'collective');
        INSERT INTO CommAnalyzerMatrix VALUES
            ('allreduce-total', '7', '0', '1', 'HCCS', 40, 4, 10, 'step5', 'collective'),
            ('allreduce-total', '7', '0', '0', 'LOCAL', 40, 4, 10, 'step5', 'collective'),
            ('allreduce-top1', '7', '0', '1', 'HCCS', 40, 4, 10, 'step5', 'collective');
        """)
    links, own, sizes = reading.read_links(full)
    assert [(link.source, link.target, link.operation, link.gb_per_s) for link in links] == [(0, 1, "allreduce", 10)]
    assert (own, sizes) == ({"7": 0}, {"7": 2})
    assert [(packet.size_mb, packet.count, packet.time_ms) for packet in reading.read_packets(full)] == [(2, 15, 3)]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("MEMORY_RECORD", "PRF324.absent"),
        ("TASK_PMU_INFO", "PRF323.no_metrics"),
        ("TASK", "PRF304.no_table"),
        ("COMPUTE_TASK_INFO", "PRF304.no_table"),
    ],
)
def test_a_table_that_is_not_there_is_told(full: Path, table: str, key: str) -> None:
    change(full, f"DROP TABLE {table}")
    report = analyse(full)
    assert key in keys_of(report)
    told = [finding for finding in findings_of(report) if finding.key == "PRF304.no_table"]
    assert [finding.args["tables"] for finding in told] == ([[table]] if key == "PRF304.no_table" else [])


@pytest.mark.parametrize("table", ["NPU_MEM", "NPU_MODULE_MEM", "OP_MEMORY", "META_DATA", "ENUM_HCCL_DATA_TYPE"])
def test_what_is_beside_the_point_may_be_absent(full: Path, table: str) -> None:
    change(full, f"DROP TABLE {table}")
    assert "PRF324.peak" in keys_of(analyse(full))
    assert calls_at(full, None).sent_bytes.tolist() == ([-1] * 3 if table.startswith("ENUM") else [4000, 20, -1])


def find_export(kind: str, level: int) -> Path:
    """Return rank 0 of one public training, exported as "text" or "db"; `python -m tools.profiles fetch` brings it."""
    told = os.environ.get("ASCEND_WORKBOOK_PROFILES")
    if not told:
        pytest.skip("ASCEND_WORKBOOK_PROFILES names no folder of `python -m tools.profiles fetch`")
    found = sorted(Path(told).glob(f"*/npu_{kind}_level{level}/rank0_ascend_pt"))
    assert found, f"{told} does not hold npu_{kind}_level{level}"
    return found[0]


def test_a_real_export_tells_what_the_text_export_tells() -> None:
    """Two runs of one training on one machine, one exported as text and one as a database: all but times is equal."""
    text, told = (load_profile(find_export(kind, 2)) for kind in ("text", "db"))
    assert text.kernels is not None and told.kernels is not None and told.kernels.path.suffix == ".db"
    for column in ("type", "unit", "inputs", "input_shapes", "output_shapes", "formats"):
        tables = text.kernels.texts[column], told.kernels.texts[column]
        cells = [Counter(table.texts[at].replace('"', "") for at in table.code.tolist()) for table in tables]
        assert cells[0] == cells[1], column
    blocks = [Counter(profile.kernels.numbers["blocks"].tolist()) for profile in (text, told) if profile.kernels]
    assert blocks[0] == blocks[1]
    for name in ("mac", "cube_read", "vector", "vector_read", "vector_write"):
        means = [profile.kernels.numbers[name] for profile in (text, told) if profile.kernels]
        assert np.nanmean(means[0]) == pytest.approx(np.nanmean(means[1]), rel=0.05), name
    memory = [profile.memory for profile in (text, told)]
    assert memory[0] is not None and memory[1] is not None
    assert max(memory[0].allocated_mb) == max(memory[1].allocated_mb)
    assert sorted(memory[0].size_mb.tolist()) == sorted(memory[1].size_mb.tolist())
    sizes = [calls_at(Path(profile.trace.source).parents[1], profile.trace).sent_bytes for profile in (text, told)]
    assert sizes[0].tolist() == sizes[1].tolist() == [16388000, 67125248, 151011328, 9878784]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_same_parts_of_either_export(level: int) -> None:
    text, told = (analyse(find_export(kind, level)) for kind in ("text", "db"))
    assert {part.verb for part in text.parts} == {part.verb for part in told.parts}
    if level == 2:  # what the host did while the device rested is each run's own
        keys = [{key for key in keys_of(report) if not key.startswith("PRF316")} for report in (text, told)]
        assert keys[0] == keys[1], "and the same is said of them"


def test_the_text_export_made_of_a_database_reads_alike(full: Path, tmp_path: Path) -> None:
    """What a database holds, written as torch_npu writes its tables, gives the very same columns."""
    profile = load_profile(full)
    assert profile.kernels is not None and profile.memory is not None and profile.database is not None
    kernels = tmp_path / "kernel_details.csv"
    with kernels.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        head = ["Name", "Type", "Accelerator Core", "Duration(us)", "Input Shapes", "Input Data Types", "Input Formats"]
        head += ["Output Shapes", "Output Data Types", "Block Dim", "Mix Block Dim"]
        writer.writerow([*head, "aic_mac_ratio", "aiv_mte2_ratio", "aic_total_cycles"])
        shapes = ['"8,3;3,4"', "DT_BF16;FLOAT", "NCHW", '"8,4"', "FLOAT"]
        writer.writerow(["Conv2D1", "Conv2D", "AI_CORE", "2.0", *shapes, 20, 0, 0.9, 0, 3600])
        shapes = ['"8,4"', "FLOAT", "NCHW", '"8,4"', "DT_BF16;FLOAT"]
        writer.writerow(["cast1", "Cast", "AI_VECTOR_CORE", "0.5", *shapes, 8, 0, 0, 0.85, "N/A"])
    text = read_kernel_table(tmp_path)
    assert text is not None and text.texts.keys() == profile.kernels.texts.keys()
    names = {"Conv2D": "Conv2D1"}
    for column, (texts, code) in text.texts.items():
        mine = profile.kernels.texts[column]
        cells = [names.get(mine.texts[at], mine.texts[at]) if column == "name" else mine.texts[at] for at in mine.code]
        assert [texts[at].strip('"') for at in code.tolist()] == cells, column
    assert text.numbers.keys() == profile.kernels.numbers.keys()
    for column, numbers in text.numbers.items():
        np.testing.assert_equal(numbers, profile.kernels.numbers[column], column)
    record = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)\nPTA,3.000,20,40\nPTA,4.000,30,40\n"
    (tmp_path / "memory_record.csv").write_text(record + "APP,3.000,,100\n")
    operators = "Name,Size(KB),Allocation Time(us),Release Time(us)\naten::mm,1024,3.100,\naten::mm,2048,3.200,3.900\n"
    (tmp_path / "operator_memory.csv").write_text(operators)
    memory = read_memory_tables(tmp_path)
    assert memory is not None
    for name in ("at_ns", "allocated_mb", "reserved_mb", "size_mb", "from_ns", "until_ns"):
        assert getattr(memory, name).tolist() == getattr(profile.memory, name).tolist(), name
    assert (memory.names, memory.process_mb) == (profile.memory.names, profile.memory.process_mb)


def test_metadata_that_is_no_json_is_left_out(full: Path) -> None:
    assert exported.read_stated(next(full.glob("*/*.db"))) == {"ENV_VARIABLES": {"HCCL_BUFFSIZE": "120"}}
    told = {"ENV_VARIABLES": {"HCCL_BUFFSIZE": "300"}}
    (full / "profiler_metadata.json").write_text(json.dumps(told))
    assert load_profile(full).metadata == told
