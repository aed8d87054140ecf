"""A plan's runs side by side: each ends as what it was, and the page, the summary and the exit code say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable
from urllib.parse import unquote

import psutil
import pytest

from ascend_workbook.batch import run_plan
from ascend_workbook.batch.plan.reading import read_plan
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from tests.batch.campaign.conftest import Start, item
from tests.page.reading import read_page

Make = Callable[..., Path]
PLAN = """
name: night
stages: [environment]
matrix: {steps: [1, 2]}
runs:
  - {name: bad, stages: migration}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return path


def test_runs_end_as_what_they_were(notebooks: Make, plan: Path, tmp_path: Path) -> None:
    books = notebooks(environment="good", migration="red")
    report = run_plan(plan, workers=2, root=tmp_path, lang="en", notebooks=books, say_progress=str)
    assert report.status is Status.FIX and report.table
    assert [row[0] for row in report.table.rows] == ["steps=1", "steps=2", "bad"]
    summary = json.loads((tmp_path / "night" / "summary.json").read_text())
    assert [run["state"] for run in summary["runs"]] == ["good", "good", "red"]
    rows = read_page((tmp_path / "night" / "index.html").read_text())["plan"]["rows"]
    assert rows[0]["href"] == "bad/index.html" and all(
        (tmp_path / "night" / unquote(row["href"])).is_file() for row in rows
    )
    assert "failures=" in (tmp_path / "night" / "junit.xml").read_text()


def test_a_word_that_is_not_known_is_refused(plan: Path) -> None:
    plan.write_text(PLAN.replace("stages: migration", "stage: migration"))
    with pytest.raises(WorkbookError, match="'stage'"):
        read_plan(plan, "en")


def test_nothing_starts_where_one_run_is_wrong(notebooks: Make, plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("[1, 2]", "[1, many]"))
    with pytest.raises(WorkbookError, match="steps=many"):
        run_plan(plan, root=tmp_path, lang="en", notebooks=notebooks(environment="good", migration="good"))
    assert not (tmp_path / "night").exists()


def test_nothing_is_written_through_a_link_in_a_runs_place(notebooks: Make, plan: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "night").mkdir()
    (tmp_path / "night" / "bad").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkbookError, match="is a link to"):
        run_plan(plan, root=tmp_path, lang="en", notebooks=notebooks(environment="good", migration="good"))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_what_takes_the_mark_off_itself_ends_with_the_run(start: Start) -> None:
    runs, _ = start([item("hides")])
    assert runs["hides"].state == "good"
    assert not [one for one in psutil.process_iter(["cmdline"]) if one.info.get("cmdline") == ["sleep", "619"]]
