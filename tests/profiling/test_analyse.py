"""The report: parts, verdict, both languages; and real profiles against what their own tables say."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.profiling import analyse, join
from ascend_workbook.profiling.answers import _report_profile
from ascend_workbook.profiling.breakdown import break_down
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.operators import rank_operators
from ascend_workbook.profiling.readers import read_trace
from ascend_workbook.profiling.readers.tables import read_step_times
from tests.conftest import ROOT
from tests.profiling.conftest import DATA

NPU_TIMELINES = ("alexnet_910b_level1/rank0", "alexnet_910b_level1/rank1", "alexnet_910b_level2/rank0")
NPU_TABLES = ("pp2dp2_level2/rank_0", "pp2dp2_level2/rank_2")


def test_the_answers_and_one_verdict() -> None:
    report = analyse(DATA / "cuda.pt.trace.json")
    verbs = [part.verb for part in report.parts]
    assert verbs[:5] == ["time_by_kind", "causes", "idle_time", "launching", "tuning"]
    assert verbs[5:] == ["top_operators", "memory_peak", "step_times", "timeline"]
    assert (report.tier, report.status) == ("cuda", Status.LOOK)
    assert join(None, report).verdict("en") == report.verdict("en")
    assert report.verdict("en") == (
        "most of the step is computing on the device: 40 % of 1 ms; the costliest operator is aten::convolution "
        "(40 %); the most that one change can save: waiting for the device (aten::item), at most 0.245 ms (24.5 %)"
    )
    assert report.verdict("zh").startswith("每步耗时 1 ms，其中最多的是设备计算（40 %）；最耗时的算子是 aten::conv")


def test_what_was_not_looked_at_is_no_status_of_a_given_answer(profile_of: Callable[..., Profile]) -> None:
    """No loader, no shapes, no stacks were recorded: told below, while each question has the status of its answer."""
    report = _report_profile(profile_of([("compute", "k", 0, 980)]), top=9, boxes=9)
    parts = {one.verb: one for one in report.parts}
    assert (report.status, parts["time_by_kind"].status) == (Status.NOTE, Status.NOTE), "one operator is all of it"
    assert parts["tuning"].status is Status.GOOD and parts["tuning"].headline == parts["tuning"].findings[0]
    assert any(one.status is Status.NOT_LOOKED for one in parts["tuning"].findings)
    assert "PRF313.unseen" in parts["time_by_kind"].text("en") or "no DataLoader" in parts["time_by_kind"].text("en")
    steps = parts["step_times"]
    assert steps.headline is not None and (steps.headline.key, steps.status) == ("PRF303.alike", Status.GOOD)
    blind = _report_profile(profile_of([("host_op", "aten::mm", 0, 900)]), top=9, boxes=9)
    assert (blind.status, blind.headline and blind.headline.key) == (Status.NOT_LOOKED, "PRF310.blind")
    idle = _report_profile(profile_of([("compute", "k", 0, 990)], tier="npu-simulated"), top=9, boxes=9)
    assert (idle.status, idle.headline and idle.headline.key) == (Status.NOT_LOOKED, "PRF310.simulated_none")
    waits = _report_profile(
        profile_of([("compute", "k", 0, 500), ("loading", "l", 500, 490)], tier="npu-simulated"), top=9, boxes=9
    )
    assert (waits.status, waits.headline and waits.headline.key) == (Status.NOTE, "PRF310.simulated_saving")


def test_an_operator_that_takes_more_than_the_step_went_on_several_times_at_once(
    profile_of: Callable[..., Profile],
) -> None:
    twice = _report_profile(profile_of([("compute", "k", 0, 900), ("compute", "k", 0, 800)]), top=9, boxes=9)
    assert "the costliest operator is k, several at once (170 %)" in twice.verdict("en")
    assert "k，多个同时进行（170 %）" in twice.verdict("zh")
    once = _report_profile(profile_of([("compute", "k", 0, 900)]), top=9, boxes=9)
    assert "the costliest operator is k (90 %)" in once.verdict("en")


def test_calls_of_one_name_are_counted_together(profile_of: Callable[..., Profile]) -> None:
    """`aten::copy_` copies to the device and computes there: which of the two took longer must not matter."""
    boxes = [("compute", "k", 0, 300), ("copy", "k", 300, 400), ("copy", "k", 500, 600)]
    report = _report_profile(profile_of(boxes), top=9, boxes=9)
    top = next(part for part in report.parts if part.verb == "top_operators")
    assert top.facts["calls_per_step"] == {"k": 3.0}


def test_tables_and_charts() -> None:
    parts = {part.verb: part for part in analyse(DATA / "timeline_ascend_pt", top=2).parts}
    kinds, top, steps = (parts[verb] for verb in ("time_by_kind", "top_operators", "step_times"))
    assert kinds.table is not None and top.table is not None and steps.table is not None
    assert kinds.table.column_values("profiling_time") == [0.4, 0.2, 0.05, 0.1, 0.25]
    assert sum(kinds.table.column_values("share")) == pytest.approx(100)  # type: ignore[arg-type]
    assert top.table.column_values("operator") == ["aten::convolution", "hcom_allReduce"]
    assert top.table.column_values("calls_per_step") == [2, 1]
    assert top.table.column_values("self_time") == [0.4, 0.3]
    assert steps.table.column_values("step") == [50, 51, 52]
    assert all(part.figure(lang) for part in (kinds, top, steps) for lang in ("en", "zh"))


def test_a_report_survives_json() -> None:
    report = analyse(DATA / "rocm.pt.trace.json")
    again = Report.from_json(report.to_json())
    assert again.verdict("en") == report.verdict("en")
    assert [part.text("zh") for part in again.parts] == [part.text("zh") for part in report.parts]


def test_the_record_beside_a_profile_says_that_it_was_simulated(tmp_path: Path) -> None:
    shutil.copy(DATA / "cpu.pt.trace.json", tmp_path / "rank0.pt.trace.json")
    (tmp_path / "collected.json").write_text(json.dumps({"tier": "npu-simulated"}))
    report = analyse(tmp_path)
    assert report.simulated
    assert report.status is Status.NOTE, "waiting for data is the host's own; of a device nothing is said"
    assert "the CPU's times, which are not an NPU's" in report.verdict("en")
    assert "并非 NPU 的耗时" in report.verdict("zh")


def test_a_folder_without_device_times_gives_no_verdict(tmp_path: Path) -> None:
    events = json.loads((DATA / "timeline_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    (tmp_path / "trace_view.json").write_text(json.dumps([one for one in events if one["pid"] in (7, 31)]))
    report = analyse(tmp_path)
    assert (report.tier, report.status) == ("", Status.NOT_LOOKED)
    assert "cannot say where the time goes" in report.verdict("en")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["analyse", str(DATA / "cuda.pt.trace.json"), "--lang", "en"], 0, "aten::convolution"),
        (["analyse", str(DATA / "old_ascend_pt"), "--lang", "zh"], 0, "设备计算"),
        (["analyse", str(DATA), "--lang", "en"], 2, "holds 3 profiles"),
        (["analyse", str(DATA / "make.py"), "--lang", "zh"], 2, "ascend-workbook profile"),
        (["analyse", str(ROOT / "LICENSE"), "--lang", "zh"], 2, "JSON"),
    ],
)
def test_the_command(args: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == code
    printed = capsys.readouterr()
    assert said in printed.out + printed.err


@pytest.mark.parametrize("name", NPU_TIMELINES + NPU_TABLES)
def test_real_npu_profiles_give_the_times_of_their_own_table(shared: Path, name: str) -> None:
    folder = shared / "data" / "npu" / f"{name}_ascend_pt"
    table = read_step_times(folder / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv")
    found = break_down(read_trace(folder)).steps[0]
    expected = table[found.number]
    parts = found.parts_ns
    free = parts["free"] + parts["loading"] + parts["copy"] - found.preparing_ns
    mine = {
        "Computing": parts["computing"],
        "Communication(Not Overlapped)": parts["communication"],
        "Overlapped": found.overlapped_ns,
        "Communication": parts["communication"] + found.overlapped_ns,
        "Free": free,
        "Stage": found.total_ns - found.preparing_ns,
    }
    assert mine == {name: pytest.approx(expected[name], abs=1000) for name in mine}
    if name in NPU_TIMELINES:  # tables alone do not tell when the step began on the host
        assert found.preparing_ns == pytest.approx(expected["Preparing"], abs=1000)


@pytest.mark.parametrize("name", NPU_TIMELINES)
def test_real_npu_operators_give_the_times_of_operator_details(shared: Path, name: str) -> None:
    folder = shared / "data" / "npu" / f"{name}_ascend_pt"
    table: dict[str, float] = {}
    csv.field_size_limit(2**24)
    with (folder / "ASCEND_PROFILER_OUTPUT" / "operator_details.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table[row["Name"]] = table.get(row["Name"], 0.0) + float(row["Device Self Duration(us)"])
    trace = read_trace(folder)
    found: dict[str, float] = {}
    for one in rank_operators(trace, [trace.steps[0].number]):
        if one.kind != "communication":
            found[one.name] = found.get(one.name, 0.0) + one.self_ns / 1000
    costliest = sorted(found, key=lambda name: -found[name])[:20]
    assert {name: found[name] for name in costliest} == {
        name: pytest.approx(table[name], abs=1, rel=1e-3) for name in costliest
    }


def test_real_gpu_profile_names_the_loader_and_its_cure(shared: Path) -> None:
    folder = shared / "data" / "gpu" / "kineto_resnet50"
    slow, fast = (sorted((folder / f"num_workers_{workers}").glob("*.gz"))[1] for workers in (0, 4))
    before, after = analyse(slow), analyse(fast)
    told = {one.rule: one for one in before.parts[0].findings}
    assert told["PRF313"].status is Status.LOOK
    assert "the loader" in before.verdict("en")
    assert {one.rule: one.status for one in after.parts[0].findings}["PRF313"] is Status.GOOD
    saved_ms = (before.parts[0].facts["step_ns"] - after.parts[0].facts["step_ns"]) / 1e6
    assert 0 < saved_ms <= float(str(told["PRF313"].args["gain_ms"]))


def test_real_npu_profile_names_the_exposed_communication(shared: Path) -> None:
    report = analyse(shared / "data" / "npu" / "alexnet_910b_level1" / "rank0_ascend_pt")
    assert (report.tier, report.status) == ("npu", Status.LOOK)
    assert "exposed communication: 66 %" in report.verdict("en")
