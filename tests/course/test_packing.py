"""The students' zip: what is committed, and no line of a solution, whatever lies in the working folder."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from helpers.course.packing import committed, goes_along, leaks, pack
from helpers.errors import WorkbookError
from tests.conftest import ROOT

SECRET = "answer = {'torch_npu': '2.6.0.post3', 'command': 'pip'}"


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Teacher", "-c", "user.email=teacher@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in {
        "README.md": "read me",
        "run.sh": "#!/bin/sh",
        "docs/teaching.md": "for teachers",
        "docs/teaching.zh-CN.md": "教师",
        "docs/batch.md": "for all",
        "tests/test_x.py": SECRET,
        "notebooks/course/en/05_exercises.ipynb": '{"cells": [{"source": ["answer = None\\n"]}]}',
        "notebooks/course/solutions/env.py": f"answer = None\n{SECRET}\nx = 1\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "run.sh").chmod(0o755)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def test_solutions_and_the_teachers_pages_stay_here(project: Path, tmp_path: Path) -> None:
    (project / "README.md").write_text(SECRET)  # not committed, so not packed
    (project / "mine.py").write_text(SECRET)
    report = pack(tmp_path / "a.zip", project=project)
    with zipfile.ZipFile(tmp_path / "a.zip") as made:
        names = [each.removeprefix("ascend-workbook/") for each in made.namelist()]
        assert names == ["README.md", "docs/batch.md", "notebooks/course/en/05_exercises.ipynb", "run.sh"]
        assert made.read("ascend-workbook/README.md") == b"read me"
        assert made.getinfo("ascend-workbook/run.sh").external_attr >> 16 == 0o755
    assert [each.key for each in report.findings] == ["CRS002.packed", "CRS002.uncommitted"]


def test_the_same_commit_gives_the_same_bytes(project: Path, tmp_path: Path) -> None:
    pack(tmp_path / "a.zip", project=project)
    pack(tmp_path / "b.zip", project=project)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with pytest.raises(WorkbookError, match="is there already"):
        pack(tmp_path / "a.zip", project=project)


@pytest.mark.parametrize("name", ["docs/hints.md", "notebooks/course/zh/06_more.ipynb"])
def test_a_solution_that_slipped_out_is_told(project: Path, tmp_path: Path, name: str) -> None:
    text = SECRET if name.endswith(".md") else f'{{"cells": [{{"source": ["x\\n", "  {SECRET}\\n"]}}]}}'
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "two")
    with pytest.raises(WorkbookError, match=f"{name} holds a line of a solution"):
        pack(tmp_path / "a.zip", project=project)
    assert not (tmp_path / "a.zip").exists()


def test_what_is_no_git_checkout(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="git checkout"):
        pack(tmp_path / "a.zip", project=tmp_path)


def test_this_project_leaks_nothing() -> None:
    """All that is committed here, solutions included."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    every = committed(ROOT)
    kept = {name: each for name, each in every.items() if goes_along(name)}
    assert "helpers/course/registry.py" in kept and "tests/course/test_packing.py" not in kept
    assert not leaks(every, kept)
    first = '"dtype": "bfloat16"}'  # too short a line to be looked for: the capstone's first answer
    assert not [name for name, (_, data) in kept.items() if "course" in name and first.encode() in data]
    assert not [name for name in kept if "solution" in name or "teaching" in name]
