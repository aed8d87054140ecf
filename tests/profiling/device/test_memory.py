"""The allocator's peak and who held it, by the profile's tables; and what to change about it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.profiling import analyse, rules
from ascend_workbook.profiling.device.memory import memory_answers, peak_of
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.readers.tables import read_memory_tables

Make = Callable[..., Profile]
RECORD = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
OPERATORS = "Name,Size(KB),Allocation Time(us),Release Time(us)\n"


Rows = list[tuple[Any, ...]]


def written(folder: Path, records: Rows, operators: Rows, conf: str | None = None) -> Path:
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(exist_ok=True)
    lines = [f"PTA,{at}.000\t,{allocated},{reserved},{allocated},2,NPU:0" for at, allocated, reserved in records]
    (output / "memory_record.csv").write_text(RECORD + "APP,100.000\t,,9000,,,NPU:0\n" + "\n".join(lines) + "\n")
    rows = [f"{name},{size_mb * 1024},{start},{end}" for name, size_mb, start, end in operators]
    (output / "operator_memory.csv").write_text(OPERATORS + "\n".join(rows) + "\n")
    if conf is not None:
        told = {"ENV_VARIABLES": {"PYTORCH_NPU_ALLOC_CONF": conf}}
        (folder / "profiler_metadata.json").write_text(json.dumps(told))
    return output


def judged(profile: Profile, code: str) -> Finding:
    return next(one for one in judge_facts(profile, rules_of(rules), strict=True) if one.rule == code)


def test_the_peak_and_who_held_it(tmp_path: Path) -> None:
    operators = [
        ("aten::mm", 100, "110.000\t", ""),
        ("aten::mm", 50, "120.000", "190.000"),
        ("aten::add", 200, "111.000", "150.000"),
        ("aten::relu", 30, "105.000", "140.000"),
        ("before", 7, "", "120.000"),
    ]
    output = written(tmp_path, [(130, 400, 1000), (100, 250, 1000), (160, 420, 2000), (180, 300, 2000)], operators)
    found = read_memory_tables(output)
    assert found is not None and found.process_mb == 9000
    peak = peak_of(found)
    assert (peak.at_ns, peak.allocated_mb, peak.reserved_mb) == (160_000, 420, 2000)
    assert peak.holders == {"aten::mm": (150, 2)}
    assert peak.earlier_mb == 270
    assert peak.unused_share == pytest.approx(0.79)


def test_an_allocation_of_unknown_size_holds_nothing(profile_of: Make, tmp_path: Path) -> None:
    operators = [("aten::mm", 100, "110", ""), ("aten::add", float("nan"), "120", "")]
    output = written(tmp_path, [(130, 400, 1000)], operators)
    table = output / "operator_memory.csv"
    table.write_text(table.read_text().replace("nan", "N/A"))
    found = read_memory_tables(output)
    assert found is not None and peak_of(found).holders == {"aten::mm": (100, 1)}
    profile = replace(profile_of([("compute", "k", 0, 500)]), output=output)
    assert judged(profile, "PRF324").args["operator_mb"] == 100


def test_reports_of_memory(profile_of: Make, tmp_path: Path) -> None:
    profile = profile_of([("compute", "k", 0, 500)])
    assert judged(profile, "PRF324").status is Status.NOT_LOOKED
    for dialect, named in (("ascend", True), ("kineto", False)):
        asked = judged(replace(profile, trace=replace(profile.trace, dialect=dialect)), "PRF324")
        assert ("memory_record.csv" in asked.message("en")) is named
    assert [one.table for one in memory_answers(profile, "profiling", [], 5)] == [None]
    profile = replace(profile, output=written(tmp_path, [(at, at, 600) for at in range(100, 900)], []))
    peak, curve = memory_answers(profile, "profiling", [judged(profile, "PRF324")], 5)
    assert peak.facts["peak_mb"] == 899 and curve.table is not None
    assert len(curve.table.rows) == 300
    assert peak.verdict("en") != curve.verdict("en") and "899 MB" in curve.verdict("en")
    assert max(map(float, map(str, curve.table.column_values("memory_allocated")))) == 899
    assert all(one.figure(lang) and one.text(lang) for one in (peak, curve) for lang in ("en", "zh"))


@pytest.mark.parametrize(
    ("allocated", "reserved", "conf", "key"),
    [
        (1000, 3000, "", "PRF343.change"),
        (1000, 3000, "max_split_size_mb:32", "PRF343.excluded"),
        (1000, 3000, "expandable_segments:True", "PRF343.on"),
        (1000, 3000, None, "advice.no_environment"),
        (2900, 3000, "", "PRF343.little"),
        (10, 300, "", "PRF343.little"),
    ],
)
def test_memory_in_pieces(
    profile_of: Make, tmp_path: Path, allocated: int, reserved: int, conf: str | None, key: str
) -> None:
    output = written(tmp_path, [(100, allocated, reserved)], [], conf)
    profile = replace(profile_of([("compute", "k", 0, 500)]), output=output)
    assert judged(profile, "PRF343").key == key


@pytest.mark.parametrize(("value", "key"), [("0", "PRF344.change"), ("1", "PRF344.on"), ("", "PRF344.on")])
def test_memory_between_streams(profile_of: Make, tmp_path: Path, value: str, key: str) -> None:
    told = {"ENV_VARIABLES": {"MULTI_STREAM_MEMORY_REUSE": value}}
    (tmp_path / "profiler_metadata.json").write_text(json.dumps(told))
    profile = profile_of([("communication", "hcom_allReduce__1", 0, 500)])
    assert judged(replace(profile, output=tmp_path / "output"), "PRF344").key == key
    assert judged(profile, "PRF344").key == "advice.no_environment"
    assert judged(profile_of([("compute", "k", 0, 500)]), "PRF344").key == "PRF344.alone"


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory_record.csv").write_text("Component,Timestamp(us)\nPTA,1\n")
    with pytest.raises(WorkbookError, match="Total Allocated"):
        read_memory_tables(tmp_path)
    assert read_memory_tables(tmp_path / "absent") is None


@pytest.mark.parametrize("name", ["alexnet_910b_level1/rank0", "pp2dp2_level2/rank_0"])
def test_the_real_peak_is_that_of_the_file(shared: Path, name: str) -> None:
    folder = shared / "data" / "npu" / f"{name}_ascend_pt"
    report = analyse(folder)
    part = next(one for one in report.parts if one.verb == "memory_peak")
    with (folder / "ASCEND_PROFILER_OUTPUT" / "memory_record.csv").open(encoding="utf-8") as file:
        allocated = [float(row["Total Allocated(MB)"]) for row in csv.DictReader(file) if row["Component"] == "PTA"]
    assert part.facts["peak_mb"] == max(allocated)
    assert part.table is not None
    held = [float(str(one)) for one in part.table.column_values("memory_held")]
    assert sum(held) == pytest.approx(max(allocated), abs=20)
    assert held[0] == pytest.approx(allocated[0], rel=0.3)  # what was there before is still there at the peak


def test_operators_show_their_dtypes_and_who_called_them(shared: Path) -> None:
    report = analyse(shared / "data" / "npu" / "alexnet_910b_level1" / "rank0_ascend_pt")
    part = next(one for one in report.parts if one.verb == "top_operators")
    assert part.table is not None
    dtypes = dict(zip(map(str, part.table.column_values("operator")), part.table.column_values("operator_dtype")))
    assert dtypes["Conv2D"] == "float32 float32 float32"
    assert any("main.py(" in str(where) for where in part.table.column_values("called_from"))


def test_times_of_the_tables_to_the_nanosecond_and_what_is_none_by_its_line(tmp_path: Path) -> None:
    def taken(first: str, second: str) -> list[int]:
        output = written(tmp_path, [(100, 1, 2)], [("a", 1, first, ""), ("b", 1, "", "7"), ("c", 1, second, "5")])
        found = read_memory_tables(output)
        assert found is not None and found.until_ns.tolist() == [2**62, 5000]
        return found.from_ns.tolist()

    assert taken("1736408883573957.921\t", "1.5E+1") == [1736408883573957921, 15000]
    with pytest.raises(WorkbookError) as told:
        taken("100.000", "soon")
    assert told.value.key == "profiling.bad_cell"
    assert (told.value.arguments["line"], told.value.arguments["column"]) == (4, "Allocation Time(us)")


def test_a_record_that_was_cut_short_and_one_without_a_column(tmp_path: Path) -> None:
    output = written(tmp_path, [(100, 1, 2), (200, 3, 4)], [])
    whole = (output / "memory_record.csv").read_text()
    (output / "memory_record.csv").write_text(whole + "\nPTA,300.000")
    found = read_memory_tables(output)
    assert found is not None and found.at_ns.tolist() == [100_000, 200_000]
    assert (found.allocated_mb.tolist(), found.reserved_mb.tolist()) == ([1, 3], [2, 4])
    (output / "memory_record.csv").write_text(whole.replace("Component", "Part"))
    with pytest.raises(WorkbookError) as told:
        read_memory_tables(output)
    assert told.value.arguments["columns"] == ["Component"]


@pytest.mark.parametrize(
    ("file", "before", "after", "place"),
    [
        ("memory_record.csv", ",1,2,1,", ",1 MB,2,1,", (3, "Total Allocated(MB)", "1 MB")),
        ("memory_record.csv", ",3,4,3,", ",3,inf,3,", (4, "Total Reserved(MB)", "inf")),
        ("memory_record.csv", ",9000,", ",much,", (2, "Total Reserved(MB)", "much")),
        ("operator_memory.csv", "a,1024,", "a,1O24,", (2, "Size(KB)", "1O24")),
        ("npu_module_mem.csv", "RUNTIME,5", "RUNTIME,five", (3, "Total Reserved(MB)", "five")),
    ],
)
def test_a_size_that_is_no_number_is_named_by_its_place(
    tmp_path: Path, file: str, before: str, after: str, place: tuple[int, str, str]
) -> None:
    output = written(tmp_path, [(100, 1, 2), (200, 3, 4)], [("a", 1, "110.000", "")])
    (output / "npu_module_mem.csv").write_text("Component,Total Reserved(MB)\nHCCL,N/A\nRUNTIME,5\nRUNTIME,3\n")
    found = read_memory_tables(output)
    assert found is not None and found.modules_mb == {"HCCL": 0, "RUNTIME": 5}
    (output / file).write_text((output / file).read_text().replace(before, after))
    with pytest.raises(WorkbookError) as told:
        read_memory_tables(output)
    arguments = told.value.arguments
    assert (arguments["line"], arguments["column"], arguments["value"]) == place
    assert told.value.key == "profiling.bad_cell" and str(arguments["path"]).endswith(file)


def test_what_the_file_says_it_does_not_have_is_no_fault(tmp_path: Path) -> None:
    found = read_memory_tables(written(tmp_path, [(100, "N/A", "N/A"), (150, 9, ""), (200, 3, 4)], []))
    assert found is not None and peak_of(found).allocated_mb == 3 and found.at_ns.tolist() == [200_000]
    assert read_memory_tables(written(tmp_path, [(100, "N/A", 4), (200, "", 4)], [])) is None


def test_a_table_that_cannot_be_read_takes_nothing_else_along(profile_of: Make, tmp_path: Path) -> None:
    output = written(tmp_path, [(100, "1 MB", 2), (200, 3, 4)], [])
    profile = replace(profile_of([("compute", "k", 0, 500)]), output=output)
    for code in ("PRF324", "PRF343"):
        told = judged(profile, code)
        assert told.status is Status.NOT_LOOKED and told.key == "PRF324.unread"
        assert "line 3, column Total Allocated(MB): 1 MB is not a number" in told.message("en")
    (peak,) = memory_answers(profile, "profiling", [judged(profile, "PRF324")], 5)
    assert peak.status is Status.NOT_LOOKED and peak.table is None
