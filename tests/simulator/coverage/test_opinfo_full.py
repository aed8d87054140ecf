"""The whole coverage table, and that the committed document says the same. Some five minutes on two cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_simulator.coverage.entries import BARS
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.simulator import coverage as document
from ascend_workbook.machine.simulator.coverage import measure_coverage

DOCUMENT = Path(__file__).parents[3] / "docs" / "simulator-operators.md"


@pytest.fixture(scope="module")
def whole(simulator_env: dict[str, str]) -> Report:
    return measure_coverage(env=simulator_env)


@pytest.mark.full
def test_every_bar_is_reached_and_nothing_is_silently_wrong(whole: Report) -> None:
    assert whole.status.json == "Good", whole.text("en")
    assert whole.table
    judged = {(row[0], row[1]) for row in whole.table.rows}
    assert judged >= set(BARS)


@pytest.mark.full
def test_the_document_holds_these_counts(whole: Report) -> None:
    made, kept = document.render(whole), DOCUMENT.read_text(encoding="utf-8")
    assert kept == made, f"make it again: {document.COMMAND}"
