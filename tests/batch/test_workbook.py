"""What ended a stage is a card of the run's page: its error explained, or where to ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.batch import workbook
from ascend_workbook.batch.execute import FAILED, Outcome
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from tests.page.reading import read_page, texts_of

OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1; 60.97 GiB total capacity)"


def publish(folder: Path, *outcomes: Outcome) -> dict[str, Any]:
    """The data of the page of a run that ended so."""
    workbook._publish_run("a", folder, ("environment", "precision"), "en", [*outcomes])
    return read_page((folder / "index.html").read_text())


def told_first(page: dict[str, Any], lang: str) -> str:
    return "\n".join(texts_of(page["cards"][0], lang))


@pytest.mark.parametrize(
    ("error", "lang", "said"),
    [
        (OOM, "en", ("memory", "Cause (documented)", "https://")),
        (OOM, "zh", ("显存", "原因（有文档）", "https://")),
        ("ValueError: of my own", "en", ("selftest --log", "/forum", "/issues", "/support")),
        ("ValueError: of my own", "zh", ("selftest --log", "论坛")),
    ],
)
def test_the_error_is_explained(tmp_path: Path, error: str, lang: str, said: tuple[str, ...]) -> None:
    page = publish(tmp_path, Outcome("precision", FAILED, "key", cell=3, error=error))
    told = told_first(page, lang)
    assert error in told and all(word.lower() in told.lower() for word in said), told
    answer = next(answer for answer in page["answers"] if answer["stage"] == "precision")
    assert error in "\n".join(texts_of(answer, lang)) and answer["status"] == 3


def test_an_error_of_ours_names_its_own_next_step(tmp_path: Path) -> None:
    page = publish(tmp_path, Outcome("precision", FAILED, "key", error="WorkbookError: no script → Name one."))
    assert "selftest" not in told_first(page, "en") and "no script → Name one." in told_first(page, "en")


def test_a_cell_that_failed_after_the_report_was_saved_is_told(tmp_path: Path) -> None:
    Report("precision", "run", (Finding("RUN400", Status.GOOD, "RUN400.not_run"),)).save(tmp_path / "precision")
    page = publish(tmp_path, Outcome("precision", FAILED, "key", cell=9, error="ValueError: of my own"))
    assert "ValueError: of my own" in told_first(page, "en") and page["cards"][0]["status"] == 3
    assert [answer["status"] for answer in page["answers"] if answer["stage"] == "precision"] == [3]


def test_a_red_verdict_is_told_by_its_report_alone(tmp_path: Path) -> None:
    found = Finding("ENV053", Status.FIX, "RUN400.could_not_start", {"error": "no driver"})
    Report("environment", "environment", (found,)).save(tmp_path / "environment")
    page = publish(tmp_path, Outcome("environment", "red", "key", cell=9, error="no driver"))
    assert [card["kind"] for card in page["cards"]] == ["environment"] and "no driver" in told_first(page, "en")
