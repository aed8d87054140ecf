"""The capstone's checks go by the stages' reports: stubs are not yet, near misses are told, the solutions pass."""

from __future__ import annotations

import math
import re
import runpy
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report, Table
from ascend_workbook.findings.sentence import say
from course.exercises import capstone
from course.exercises.capstone import SCRIPT, STAGES, check_stage, handed_in
from course.exercises.outcome import DONE, NOT_YET, PARTLY
from course.exercises.task import Place
from helpers.notebook import NotebookRun
from tests.conftest import ROOT

SOLUTIONS = ROOT / "notebooks" / "course" / "solutions" / "06_capstone.py"
SOURCE = ROOT / "notebooks" / "source" / "course" / "06_capstone.py"
FUNCTIONS = {
    "environment": "where",
    "migration": "script_changes",
    "precision": "experiment",
    "profiling": "loop_changes",
}


@pytest.fixture
def run(tmp_path: Path) -> NotebookRun:
    return NotebookRun("course_capstone", "en", "npu-simulated", tmp_path)


def solution(stage: str) -> Any:
    return runpy.run_path(str(SOLUTIONS))[FUNCTIONS[stage]]()


def said(outcome: Any) -> list[str]:
    return [one["say"].rpartition(".")[2] for one in outcome.missing]


def stub() -> None:
    raise NotImplementedError


@pytest.mark.parametrize("stage", STAGES)
def test_a_stub_is_not_yet_and_a_wrong_kind_is_told(run: NotebookRun, stage: str) -> None:
    assert check_stage(stage, stub, run).status == NOT_YET
    for answer in (None, 3, "text", {}, [("a",)], {"device": 1, "dtype": []}, [("no such text", "x")]):
        outcome = check_stage(stage, answer, run)
        assert outcome.status == NOT_YET and outcome.missing and outcome.hint("zh")


def test_there_is_no_fifth_stage(run: NotebookRun) -> None:
    with pytest.raises(WorkbookError, match="environment"):
        check_stage("deployment", stub, run)


@pytest.mark.parametrize("stage", ["precision", "profiling"])
def test_later_stages_ask_for_the_migration_first(run: NotebookRun, stage: str) -> None:
    assert said(check_stage(stage, solution(stage), run)) == ["first"]


@pytest.mark.parametrize("left_out", [0, 1])
def test_a_place_left_to_a_person_is_named_and_nothing_runs(run: NotebookRun, left_out: int) -> None:
    answer = [change for number, change in enumerate(solution("migration")) if number != left_out]
    outcome = check_stage("migration", answer, run)
    line = (r"get_device_capability", r'"cuda" in str\(tensor')[left_out]
    text = (run.folder / "course" / "capstone_migration" / SCRIPT).read_text(encoding="utf-8").splitlines()
    assert said(outcome) == ["open"]
    assert outcome.missing[0]["args"]["lines"] == [n for n, one in enumerate(text, 1) if re.search(line, one)]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"arguments": "--seed 0"}, "arguments"),
        ({"dump_steps": [9]}, "steps"),
        ({"dump_steps": []}, "steps"),
        ({"dump_steps": [True]}, "steps"),
        ({"aligned": "yes"}, "yes_no"),
    ],
)
def test_decisions_that_cannot_be_are_told_before_anything_runs(
    run: NotebookRun, change: dict[str, Any], kind: str
) -> None:
    assert said(check_stage("precision", {**solution("precision"), **change}, run)) == [kind]


def measured(loading_ms: float, items: float, losses: Sequence[float | None]) -> tuple[Report, Report]:
    empty = Table((), ())
    parts = (
        Report("profiling", "time_by_kind", table=empty, facts={"parts_ns": {"loading": loading_ms * 1e6}}),
        Report("profiling", "top_operators", table=empty, facts={"calls_per_step": {"aten::item": items}}),
    )
    return Report("profiling", "profile", facts={"losses": list(losses)}), Report("profiling", "analyse", parts=parts)


@pytest.fixture
def migrated(run: NotebookRun) -> Iterator[NotebookRun]:
    place = run.folder / "course" / "capstone_migration"
    place.mkdir(parents=True)
    (place / SCRIPT).write_text((ROOT / "notebooks/course/scripts" / SCRIPT).read_text(encoding="utf-8"))
    yield run


@pytest.mark.parametrize(
    ("after", "missing"),
    [
        (measured(10, 10, [2.0, 1.0]), []),
        (measured(25, 10, [2.0, 1.0]), ["loads_still"]),
        (measured(10, 14, [2.0, 1.0]), ["reads_still"]),
        (measured(10, 10, [2.0, 1.1]), ["other_losses"]),
        (measured(10, 10, [2.0, 0.0]), ["other_losses"]),
        (measured(10, 10, [2.0, math.nan]), ["no_losses"]),
        (measured(10, 10, [2.0, math.inf]), ["no_losses"]),
        (measured(10, 10, [2.0, None]), ["no_losses"]),
        (measured(10, 10, [2.0]), ["no_losses"]),
        (measured(10, 10, [2.0, 1.0, 0.5]), ["no_losses"]),
        (measured(10, 10, []), ["no_losses"]),
    ],
)
def test_the_loop_is_judged_by_its_measurements(
    migrated: NotebookRun, monkeypatch: pytest.MonkeyPatch, after: tuple[Report, Report], missing: list[str]
) -> None:
    sides = iter([measured(40, 18, [2.0, 1.0]), after])
    monkeypatch.setattr(capstone, "_measure_script", lambda *_: next(sides))
    outcome = check_stage("profiling", solution("profiling"), migrated)
    assert said(outcome) == missing and outcome.status == (PARTLY if missing else DONE)


@pytest.mark.parametrize(
    ("first", "now", "missing"),
    [
        ([2.0, 0.0], [2.0, 0.0], ""),
        ([0.0], [1e-9], "1 apart"),
        ([math.nan], [math.nan], "missing or not finite"),
        ([], [], "missing or not finite"),
    ],
)
def test_losses_of_zero_are_losses(first: list[float], now: list[float], missing: str) -> None:
    same, _, _ = capstone._compare_profiles(measured(40, 18, first), measured(10, 10, now))
    text = say(same[1].key, "en", **same[1].args)
    assert same[0] is not bool(missing) and missing in text
    assert "inf" not in text.replace("finite", "") and "inf" not in say(same[1].key, "zh", **same[1].args)


def test_what_was_not_done_is_told_in_the_end(run: NotebookRun) -> None:
    report = handed_in(run, "en")
    told = [one.message("en") for one in report.findings]
    assert told == [f"the stage {stage} is not done yet" for stage in STAGES] and report.status.json == "Not looked"
    assert report.findings[0].message("zh") == "环境检查阶段尚未完成"


def test_the_stubs_of_the_notebook_are_the_solutions_functions() -> None:
    stubs = re.findall(r'^# %% tags=\["task-(\w+)"\]\ndef (\w+)\(\):', SOURCE.read_text(encoding="utf-8"), re.M)
    assert dict(stubs) == FUNCTIONS
    assert set(re.findall(r"^# %% (\w+)$", SOLUTIONS.read_text(encoding="utf-8"), re.M)) == set(STAGES)


@pytest.mark.full
def test_the_solutions_pass_and_the_page_says_what_is_left(run: NotebookRun, simulator_env: dict[str, str]) -> None:
    for stage in STAGES:
        outcome = check_stage(stage, solution(stage), run)
        assert outcome.status == DONE, str(outcome)
    report = handed_in(run, "en")
    assert not [one for one in report.findings if one.rule == "CAP400"] and report.simulated
    assert (run.folder / "course" / "run" / "acceptance.json").is_file()
    assert (run.folder / "course" / "run" / "index.html").is_file()
    assert report.parts[-1].verb == "accept" and "not yet" in report.parts[-1].verdict("en")


def test_only_16_bit_formats_are_named_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [{"dtype": kind, "max_error": 0.0} for kind in ("float32", "float16", "bfloat16")]
    machine = SimpleNamespace(tier="npu-simulated", status=Status.GOOD, simulated=True)
    monkeypatch.setattr(capstone.environment, "check", lambda *_, **__: machine)
    monkeypatch.setattr(
        capstone.environment, "compute_check", lambda *_, **__: SimpleNamespace(facts={"measurements": rows})
    )
    monkeypatch.setattr(capstone.environment, "join", lambda *_: SimpleNamespace(save=lambda folder: None))
    monkeypatch.setattr(capstone, "headline_of", lambda _: {"say": "course.simulated", "args": {}})
    place = Place(tmp_path)
    found = capstone.check_device({"device": "npu-simulated", "dtype": "float32"}, place)
    assert [one["args"] for one in found.missing] == [{"dtype": "float32", "known": ["bfloat16", "float16"]}]
    assert not capstone.check_device({"device": "npu-simulated", "dtype": "torch.bfloat16"}, place).missing
