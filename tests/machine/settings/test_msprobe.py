"""The real ConfigChecker of msprobe on two records, in a child that has nothing of ours to leak."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import bounded
from ascend_workbook.machine.settings import msprobe
from tests.machine.settings.records import GPU, NPU, changed

HERE = importlib.util.find_spec("msprobe") is not None


@pytest.mark.skipif(not HERE, reason="mindstudio-probe is not installed")
def test_its_xlsx_shows_the_recorded_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import openpyxl

    monkeypatch.setenv("OBS_SECRET_ACCESS_KEY", "PLANTED")
    right = changed(changed(NPU, "packages", torch="2.8.0"), "environment", HCCL_ALGO="level0:ring")
    made = msprobe.write_xlsx(GPU, right, tmp_path / "r.xlsx")
    book = openpyxl.load_workbook(made)
    rows = {sheet.title: [tuple(row) for row in sheet.iter_rows(values_only=True)] for sheet in book}
    assert ("torch", "2.9.0+cu126", "2.8.0", "error") in rows["pip"]
    assert not [row for row in rows["pip"] if row[0] == "numpy"]
    assert [row for row in rows["env"] if "HCCL_ALGO" in row and "level0:ring" in row]
    assert "PLANTED" not in str(rows) and [path.name for path in tmp_path.iterdir()] == ["r.xlsx"]


def test_its_absence_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(WorkbookError, match="pip install --no-deps mindstudio-probe"):
        msprobe.write_xlsx(GPU, NPU, tmp_path / "r.xlsx")
    assert not list(tmp_path.iterdir())


def test_its_failure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [bounded.Output(1, "", "ModuleNotFoundError: No module named 'msprobe'"), bounded.Output(1, "", "odd")]
    monkeypatch.setattr("ascend_workbook.machine.bounded.run_bounded", lambda *args, **options: answers.pop(0))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    for key in ("settings.no_msprobe", "settings.msprobe_failed"):
        with pytest.raises(WorkbookError) as told:
            msprobe.write_xlsx(GPU, NPU, tmp_path / "r.xlsx", python=sys.executable)
        assert told.value.key == key and told.value.hint("zh")
