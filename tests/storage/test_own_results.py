"""A scan of a project leaves out what the workbook wrote into it, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.migration import files
from ascend_workbook.storage.saving import is_marked, mark_results
from helpers import notebook


def test_results_are_no_part_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("train.py", "runs/mine.py", "runs/night/a/migration/migrated/train.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import torch\n")
    names = {"runs/mine.py", "train.py"}
    found = files.collect_files(tmp_path)
    assert {found.name_of(file) for file in found.python} == names | {"runs/night/a/migration/migrated/train.py"}
    mark_results(tmp_path / "runs" / "night")
    found = files.collect_files(tmp_path)
    assert {found.name_of(file) for file in found.python} == names
    inside = files.collect_files(tmp_path / "runs" / "night")  # asked for by name: looked at
    assert len(inside.python) == 1
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASCEND_WORKBOOK_LANG", "en")
    assert is_marked(notebook.begin("migration", run_dir=str(tmp_path / "runs/notebook")).folder.parent)
