"""A notebook finds the project, speaks its language, and leaves its results in its stage's folder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import IPython.display
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table, load_report
from ascend_workbook.findings.sentence import say
from ascend_workbook.show.card import MIME
from helpers.notebook import ROOT, SAMPLE, begin
from tests.page.reading import read_page


@pytest.fixture(autouse=True)
def own_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_LANG", "en")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What cells show, in order."""
    bundles: list[dict[str, Any]] = []
    for name in ("display", "update_display"):
        monkeypatch.setattr(IPython.display, name, lambda one, **options: bundles.append(one._repr_mimebundle_()))
    return bundles


def sample() -> Report:
    table = Table((Column("operator"), Column("time", "ms")), (("add", 1.5),))
    return Report("profiling", "run", (), table, Chart("bars", "operator", ("time",), "ms"), tier="cpu")


def test_results_go_to_the_stage_folder(tmp_path: Path) -> None:
    run = begin("profiling", "zh", str(tmp_path), "cpu")
    assert os.environ["ASCEND_WORKBOOK_LANG"] == "zh"
    assert run.save(sample(), "x") == load_report(tmp_path / "profiling" / "x.json")
    assert [path.name for path in run.folder.iterdir()] == ["x.json"] and not (tmp_path / "index.html").exists()
    run.save(sample())
    shown = read_page((tmp_path / "index.html").read_text())
    assert shown["lang"] == "zh" and shown["tabs"]["perf"]["id"] == "run"


def test_relative_folders_start_at_the_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("helpers.notebook.ROOT", tmp_path / "project")
    monkeypatch.setattr("ascend_workbook.machine.project.ROOT", tmp_path / "project")
    assert begin("migration", run_dir="runs/a").folder == tmp_path / "project" / "runs" / "a" / "migration"


def test_of_a_shared_installation_results_go_to_the_users_own_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setattr("helpers.notebook.ROOT", project)
    monkeypatch.setattr("ascend_workbook.machine.project.ROOT", project)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != project)  # root may write anywhere
    monkeypatch.setenv("HOME", str(tmp_path / "student"))
    run = begin("migration", run_dir="runs/a")
    assert run.folder == tmp_path / "student" / "ascend-workbook" / "runs" / "a" / "migration"
    (run.folder / "losses.json").write_text("{}")
    assert run.path("runs/a/migration/losses.json") == run.folder / "losses.json"
    assert run.path("runs/b") == project / "runs" / "b"


def test_the_user_says_where_results_begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_RUNS", str(tmp_path / "disk"))
    assert begin("migration", run_dir="runs/a").folder == tmp_path / "disk" / "runs" / "a" / "migration"
    assert begin("migration", run_dir=str(tmp_path / "b")).folder == tmp_path / "b" / "migration"


def test_paths_are_found_here_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    run = begin("migration", run_dir=str(tmp_path))
    assert run.path("train.py") == tmp_path / "train.py"
    assert run.path("notebooks/scripts/gpt_text.py") == ROOT / "notebooks/scripts/gpt_text.py"


def test_an_address_is_no_path(tmp_path: Path) -> None:
    run = begin("precision", run_dir=str(tmp_path))
    assert run.place("obs://bucket/gpu.zip") == "obs://bucket/gpu.zip"
    assert run.place("README.md") == str(run.path("README.md"))


def test_a_picture_comes_with_its_facts(tmp_path: Path) -> None:
    bundle = begin("profiling", run_dir=str(tmp_path)).picture(sample())._repr_mimebundle_()
    assert "<svg" in bundle["text/html"] and bundle["text/plain"] == sample().title("en")
    assert bundle[MIME] == {"chart": "bars by operator: time (1 points 1.5..1.5)"}


def test_facts_are_kept_unseen(tmp_path: Path, shown: list[dict[str, Any]]) -> None:
    begin("profiling", run_dir=str(tmp_path)).note(ran_on="cpu", steps=[1, 2])
    assert [(one["text/html"], one[MIME]) for one in shown] == [("", {"ran_on": "cpu", "steps": [1, 2]})]


def test_the_verdict_comes_to_its_place_and_below(tmp_path: Path, shown: list[dict[str, Any]]) -> None:
    run = begin("profiling", "zh", str(tmp_path))
    run.place_card()
    run.conclude(run.save(sample()))
    place, first, last = (one["text/html"] for one in shown)
    assert say("card.waits", "zh") in place
    assert "<table" not in first and "<table" in last and all("index.html" in one for one in (first, last))
    assert (tmp_path / "index.html").is_file()


def test_a_verdict_to_be_mended_turns_a_batch_red_in_one_line(tmp_path: Path, shown: list[dict[str, Any]]) -> None:
    wrong = replace(sample(), findings=(Finding("RUN400", max(Status), "RUN400.stopped"),))
    with pytest.raises(WorkbookError) as raised:
        begin("profiling", "en", str(tmp_path)).conclude(wrong)
    assert len(shown) == 2 and "✕" in shown[-1]["text/html"]
    (line,) = raised.value._render_traceback_()  # type: ignore[attr-defined]
    assert line == f"WorkbookError: {raised.value}"


def test_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected one of en, zh"):
        begin("profiling", "fr", str(tmp_path))


@pytest.mark.parametrize(
    ("script", "given", "expected"),
    [
        (SAMPLE, "auto", ["--epochs", "1"]),
        (ROOT / "notebooks" / "scripts" / "gpt_text.py", "auto", []),
        (Path("elsewhere/resnet_digits.py"), " auto ", []),
        (SAMPLE, "", []),
        (Path("train.py"), "--name 'a b' --lr 1", ["--name", "a b", "--lr", "1"]),
    ],
)
def test_the_samples_arguments_are_not_another_scripts(
    tmp_path: Path, script: Path, given: str, expected: list[str]
) -> None:
    run = begin("migration", "en", str(tmp_path))
    assert run.arguments(script, given, "--epochs 1") == expected
