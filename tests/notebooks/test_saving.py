"""What a notebook saves says how its stage is repeated, where a run told it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.machine.project import COMMAND
from helpers.notebook import begin


def test_a_saved_report_says_how_its_stage_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begin("migration", "en", str(tmp_path))
    run.save(Report("migration", "scan"))
    assert load_report(tmp_path / "migration" / "report.json").command == ()
    words = ["ascend-workbook", "run", "--stage", "migration"]
    monkeypatch.setenv(COMMAND, json.dumps(words))
    assert run.save(Report("migration", "scan")).command == tuple(words)
    assert load_report(tmp_path / "migration" / "report.json").command == tuple(words)
