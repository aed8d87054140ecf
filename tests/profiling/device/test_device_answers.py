"""Launches, units and idle time as reports; on real profiles the numbers of their own tables."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.profiling import analyse, rules
from ascend_workbook.profiling.device.idle import count_waiting, summarise_launches
from ascend_workbook.profiling.device.units import UNITS, units_of_table, units_of_trace
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.readers.tables import read_kernel_table
from tests.profiling.conftest import DATA

HEAD = "Name,Type,Accelerator Core,Duration(us),Input Data Types,aic_mac_ratio,aic_mte2_ratio,aiv_vec_ratio"
HEAD += ",aiv_mte2_ratio,aiv_mte3_ratio,cube_utilization(%)"
ROWS = (
    "mm1,MatMulV3,AI_CORE,300,DT_BF16;FLOAT,0.9,0.5,0,0,0,90",
    "mm2,MatMulV3,AI_CORE,100,FLOAT;FLOAT,0.5,0.9,0,0,0,50",
    "cast,Cast,AI_VECTOR_CORE,50,FLOAT,0,0,0.1,0.2,0.9,0",
    "index,Index,AI_CPU,50,INT64,N/A,N/A,N/A,N/A,N/A,N/A",
    "hcom_allReduce__1,N/A,HCCL,999,N/A,N/A,N/A,N/A,N/A,N/A,N/A",
)


def part(report: Report, verb: str) -> Report:
    return next(one for one in report.parts if one.verb == verb)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "kernel_details.csv").write_text("\n".join((HEAD, *ROWS)) + "\n")
    return tmp_path


def test_units_and_what_bounds_them(table: Path) -> None:
    found = read_kernel_table(table)
    assert found is not None and len(found) == 4
    cube, vector, ai_cpu = units_of_table(found)
    assert (cube.name, cube.kernels, cube.ns) == ("cube", 2, 400_000)
    assert (cube.by_computing, cube.by_memory, cube.by_neither) == (0.75, 0.25, 0)
    assert cube.cube_utilisation == 80
    assert (vector.by_memory, vector.cube_utilisation) == (1, None)
    assert (ai_cpu.name, ai_cpu.by_computing) == ("ai_cpu", None)
    assert found.distinct_texts("inputs", np.arange(4) == 0) == ["bfloat16 float32"]
    assert found.total_ns(found.is_type("Cast", "Mat*")) == 450_000


def test_a_table_without_metrics_or_units(tmp_path: Path) -> None:
    (tmp_path / "kernel_details.csv").write_text("Name,Type,Accelerator Core,Duration(us)\nk,N/A,N/A,5\n")
    found = read_kernel_table(tmp_path)
    assert found is not None and units_of_table(found) == []
    (tmp_path / "kernel_details.csv").write_text("Name,Type\nk,N/A\n")
    with pytest.raises(WorkbookError, match="Duration"):
        read_kernel_table(tmp_path)
    assert read_kernel_table(tmp_path / "absent") is None


def test_what_cannot_be_used_of_a_table_is_counted_and_told(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_workbook.profiling.readers.tables.ROWS", 2)
    whole = read_kernel_table(table)
    assert whole is not None and (whole.bad_rows, whole.bad_cells) == (0, 0)
    broken = (*ROWS[:2], ROWS[0] + ",x", ROWS[2].replace("50", "fifty"), "cut,Cast", ROWS[3].replace("N/A", "inf", 1))
    (table / "kernel_details.csv").write_text("\n".join((HEAD, *broken)) + "\n\n")
    found = read_kernel_table(table)
    assert found is not None and len(found) == 4
    assert (found.bad_rows, found.bad_line, found.bad_cells, found.bad_cell) == (2, 4, 2, "fifty")
    assert (found.total_ns(), found.texts["name"].texts) == (450_000, ("mm1", "mm2", "cast", "index"))
    profile = replace(load_profile(DATA / "timeline_ascend_pt"), output=table)
    told = [
        one for one in judge_facts(replace(profile, tier="npu"), rules_of(rules), strict=True) if one.rule == "PRF323"
    ]
    assert [(one.key, one.status) for one in told[:2]] == [("PRF323.rows", Status.LOOK), ("PRF323.cells", Status.LOOK)]
    assert "line 4" in told[0].message("en") and "fifty" in told[1].message("en")
    (table / "kernel_details.csv").write_text(f"{HEAD}\ncut,Cast\n")
    with pytest.raises(WorkbookError, match="none of the rows"):
        read_kernel_table(table)


def test_launches_and_the_queue() -> None:
    profile = load_profile(DATA / "cuda.pt.trace.json")
    found = summarise_launches(profile.trace, profile.breakdown.steady)
    assert (found.kernels, found.kernel_ns, found.short, found.known, found.of) == (4, 800_000, 0, 8, 8)
    assert found.latency_ns is not None
    assert found.latency_ns[0] == 60_000  # 50, 70, 10 and 195 us
    one, two, three = (np.array(times, np.int64) for times in ([5, 30], [0, 1, 2, 40], [10, 20, 2, 50]))
    assert count_waiting(one, two, three).tolist() == [2, 0]


def test_reports_of_the_device() -> None:
    report = analyse(DATA / "timeline_ascend_pt")
    verbs = [one.verb for one in report.parts]
    assert verbs[:4] == ["time_by_kind", "causes", "idle_time", "launching"]
    idle = part(report, "idle_time")
    assert idle.table is not None
    assert idle.table.column_values("profiling_time") == pytest.approx([0.1, 0, 0.2, 0, 0.05, 0])
    assert all(idle.figure(lang) for lang in ("en", "zh"))
    assert "AI core (cube or vector, not told apart)" in part(report, "units").text("en")
    assert "idle_time" not in [one.verb for one in analyse(DATA / "cpu.pt.trace.json").parts]


@pytest.mark.parametrize("name", ["alexnet_910b_level1/rank0", "alexnet_910b_level2/rank0", "pp2dp2_level2/rank_0"])
def test_units_are_those_of_op_statistic(shared: Path, name: str) -> None:
    folder = shared / "data" / "npu" / f"{name}_ascend_pt"
    expected: dict[str, tuple[int, float]] = {}
    with (folder / "ASCEND_PROFILER_OUTPUT" / "op_statistic.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            unit = UNITS[row["Core Type"]]
            count, spent = expected.get(unit, (0, 0.0))
            expected[unit] = (count + int(row["Count"]), spent + float(row["Total Time(us)"]))
    found = read_kernel_table(folder / "ASCEND_PROFILER_OUTPUT")
    assert found is not None
    units = {one.name: (one.kernels, pytest.approx(one.ns / 1000, abs=1)) for one in units_of_table(found)}
    assert units == expected


def test_real_alexnet_waits_for_its_host(shared: Path) -> None:
    report = analyse(shared / "data" / "npu" / "alexnet_910b_level1" / "rank0_ascend_pt")
    idle = part(report, "idle_time")
    assert idle.findings[0].key == "PRF321.host"
    assert idle.table is not None
    kinds = part(report, "time_by_kind").facts["parts_ns"]
    assert sum(map(float, map(str, idle.table.column_values("profiling_time")))) == pytest.approx(
        (kinds["free"] + kinds["loading"]) / 1e6
    )
    assert idle.table.column_values("profiling_time")[-1] == 0


def test_real_loader_is_the_cause_and_its_cure(shared: Path) -> None:
    for workers, cause in ((0, "PRF321.loading"), (4, "PRF321.host")):
        folder = shared / "data" / "gpu" / "kineto_resnet50" / f"num_workers_{workers}"
        profile = load_profile(sorted(folder.glob("*.gz"))[1])
        found = {one.rule: one for one in judge_facts(profile, rules_of(rules), strict=True)}
        assert found["PRF321"].key == cause


def test_late_launches_of_long_kernels_are_told_too(profile_of: Callable[..., Profile]) -> None:
    def found(length: int) -> Finding:
        made = profile_of([("compute", "k", 0, length)])
        at_start = Profile.from_trace(replace(made.trace, launch_ns=made.trace.start_ns.copy()), made.record)
        return next(one for one in judge_facts(at_start, rules_of(rules), strict=True) if one.rule == "PRF322")

    assert (found(500).key, found(500).status, found(500).args["share"]) == ("PRF322.late", Status.NOTE, 50.0)
    assert (found(950).key, found(950).status) == ("PRF322.few", Status.GOOD)


def test_tables_alone_do_not_tell_why(shared: Path) -> None:
    profile = load_profile(shared / "data" / "npu" / "pp2dp2_level2" / "rank_0_ascend_pt")
    found = {one.rule: one for one in judge_facts(profile, rules_of(rules), strict=True)}
    assert (found["PRF321"].key, found["PRF321"].status) == ("PRF321.no_launches", Status.NOT_LOOKED)
    assert (found["PRF322"].key, found["PRF322"].status) == ("PRF322.no_launches", Status.NOT_LOOKED)
    assert found["PRF323"].key == "PRF323.bounds"
    assert units_of_trace(profile.trace)
