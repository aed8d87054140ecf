"""The fifth stage: it runs where it is named, behind the four, and is no part of what runs where none is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest

from ascend_workbook import batch
from ascend_workbook.batch.plan.reading import check, read_plan
from ascend_workbook.batch.stages import ALL_STAGES, STAGES, find_notebooks, list_stages
from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from tests.page.reading import read_page

Make = Callable[..., Path]
FIVE = dict.fromkeys(ALL_STAGES, "good")


def test_it_runs_and_is_reused_as_any_stage(notebooks: Make, tmp_path: Path) -> None:
    books = notebooks(profiling="good", planning="good")
    stages = ("profiling", "planning")
    parameters = {"planning.steps": "5"}
    for reused in (False, True):
        report = batch.run("t", parameters, stages=stages, lang="en", root=tmp_path, notebooks=books, say_progress=str)
        assert report.status is Status.GOOD
        assert [outcome["reused"] for outcome in report.facts["outcomes"]] == [reused, reused]
    assert json.loads((tmp_path / "t" / "planning" / "report.json").read_text())["facts"] == {"steps": 5}
    data = read_page((tmp_path / "t" / "index.html").read_text())
    assert data["answers"][-1]["stage"] == "planning"
    assert data["run"]["stages"][-1]["command"][-5:] == ["--stage", "planning", "-p", "planning.steps", "5"]
    assert 'name="planning"' in (tmp_path / "t" / "junit.xml").read_text()


def test_its_parameters_have_types(notebooks: Make, tmp_path: Path) -> None:
    books = notebooks(planning="good")
    with pytest.raises(WorkbookError) as told:
        batch.run("t", {"steps": "x"}, stages=("planning",), lang="en", root=tmp_path, notebooks=books)
    assert told.value.key == "run.parameter_type"


def test_red_is_red_and_waits_for_what_is_before_it(notebooks: Make, tmp_path: Path) -> None:
    books = notebooks(profiling="good", planning="red")
    run = {"stages": ("profiling", "planning"), "lang": "en", "root": tmp_path, "say_progress": str}
    assert batch.run("t", {}, notebooks=books, **run).status is Status.FIX  # type: ignore[arg-type]
    books = notebooks(profiling="raises", planning="good")
    report = batch.run("t", {}, notebooks=books, **run)  # type: ignore[arg-type]
    assert [outcome["blocked_by"] for outcome in report.facts["outcomes"]] == ["", "profiling"]


def test_no_run_and_no_plan_has_it_that_does_not_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def run(*_: object, stages: tuple[str, ...], **__: object) -> Report:
        asked.append(stages)
        return Report("batch", "page")

    monkeypatch.setattr(batch, "run", run)
    for words in ((), ("--stage", "planning"), ("--stage", "planning", "--stage", "migration")):
        main(["run", *words])
    assert asked == [STAGES, ("planning",), ("migration", "planning")]
    plan = tmp_path / "p.yaml"
    plan.write_text("runs: [{name: a}, {name: b, stages: [planning, migration]}]")
    assert [item.stages for item in read_plan(plan, "en").items] == [STAGES, ("migration", "planning")]


def test_a_plan_gives_it_parameters(notebooks: Make, tmp_path: Path) -> None:
    plan = tmp_path / "p.yaml"
    plan.write_text("lang: en\nstages: [planning]\nruns: [{name: a, parameters: {planning.steps: 3}}]")
    assert dict(check(read_plan(plan, "en"), notebooks(planning="good")).items[0].parameters) == {"planning.steps": "3"}


def test_its_notebook_is_called_plan(notebooks: Make) -> None:
    folder = notebooks(**FIVE) / "en"
    assert find_notebooks(("planning",), folder)["planning"].name == "05_plan.ipynb"
    assert list_stages(folder) == ALL_STAGES
