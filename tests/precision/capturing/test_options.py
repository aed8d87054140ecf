"""The commit of a folder, with a mark where files differ; nothing outside a repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ascend_workbook.precision.capturing.options import CHANGED, commit_of


def test_the_commit_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    script = tmp_path / "train.py"
    script.write_text("1")
    assert commit_of(tmp_path) == ""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    found = commit_of(tmp_path)
    assert len(found) == 40
    script.write_text("2")
    assert commit_of(tmp_path) == found + CHANGED


def test_without_git_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(tmp_path) == ""
