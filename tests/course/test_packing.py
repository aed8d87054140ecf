"""The students' zip: what is committed, and no line of a solution, whatever lies in the working folder."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import zipfile
from pathlib import Path
from urllib.parse import unquote

import pytest

from ascend_workbook.cli.main import build_parser
from ascend_workbook.diagnose import explain
from ascend_workbook.findings.errors import WorkbookError
from course.packing import (
    TARGETS,
    Files,
    choose_files,
    find_leaks,
    for_students,
    make_zip,
    pack_zip,
    read_committed,
)
from tests.conftest import ROOT
from tests.test_readme import commands

SECRET = "answer = {'torch_npu': '2.6.0.post3', 'command': 'pip'}"
MAKEFILE = "# All.\nX ?= 1\n\n.PHONY: lab test\n\nlab:  ## open\n\techo\n\ntest:\n\tpython tests/x.py\n"


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Teacher", "-c", "user.email=teacher@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in {
        "README.md": "for all",
        "CONTRIBUTING.md": "for who works on it",
        "course/packing/students/README.md": "read me",
        "Makefile": MAKEFILE,
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
    report = pack_zip(tmp_path / "a.zip", project=project)
    with zipfile.ZipFile(tmp_path / "a.zip") as made:
        names = [each.removeprefix("ascend-workbook/") for each in made.namelist()]
        assert names == ["Makefile", "README.md", "docs/batch.md", "notebooks/course/en/05_exercises.ipynb", "run.sh"]
        assert made.read("ascend-workbook/README.md") == b"read me"
        assert made.getinfo("ascend-workbook/run.sh").external_attr >> 16 == 0o755
    assert [each.key for each in report.findings] == ["CRS002.uncommitted"]
    assert report.facts["left_out"] == 6
    assert {"docs/teaching.md", "tests"} < set(report.facts["left_out_names"])


def test_the_same_commit_gives_the_same_bytes(project: Path, tmp_path: Path) -> None:
    pack_zip(tmp_path / "a.zip", project=project)
    pack_zip(tmp_path / "b.zip", project=project)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with pytest.raises(WorkbookError, match="is there already"):
        pack_zip(tmp_path / "a.zip", project=project)


@pytest.mark.parametrize("name", ["docs/hints.md", "notebooks/course/zh/06_more.ipynb"])
def test_a_solution_that_slipped_out_is_told(project: Path, tmp_path: Path, name: str) -> None:
    text = SECRET if name.endswith(".md") else f'{{"cells": [{{"source": ["x\\n", "  {SECRET}\\n"]}}]}}'
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "two")
    with pytest.raises(WorkbookError, match=f"{name} holds a line of a solution"):
        pack_zip(tmp_path / "a.zip", project=project)
    assert not (tmp_path / "a.zip").exists()


def test_what_is_no_git_checkout(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="git checkout"):
        pack_zip(tmp_path / "a.zip", project=tmp_path)


@pytest.fixture(scope="module")
def every() -> Files:
    """All that is committed here, solutions included."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return read_committed(ROOT)


@pytest.fixture(scope="module")
def unpacked(every: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(io.BytesIO(make_zip(choose_files(every)))) as packed:
        packed.extractall(folder)
    return folder / "ascend-workbook"


def test_this_project_leaks_nothing(every: Files) -> None:
    kept = choose_files(every)
    assert "course/exercises/task.py" in kept and "tests/course/test_packing.py" not in kept
    assert not find_leaks(every, kept)
    first = '"dtype": "bfloat16"}'  # too short a line to be looked for: the capstone's first answer
    assert not [name for name, (_, data) in kept.items() if "course" in name and first.encode() in data]
    assert not [name for name in kept if "solution" in name or "teaching" in name]


def prose(path: Path) -> str:
    """Of a page, or of a notebook's cells of text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(each["source"]) for each in cells if each["cell_type"] == "markdown")
    return text


def anchors(text: str) -> set[str]:
    """Of a page's headings, as they are written by those who show Markdown."""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", each.strip().lower()).replace(" ", "-") for each in headings}


def dead_links(folder: Path) -> list[tuple[str, str]]:
    """(page, target) of relative links in pages and notebooks that lead to no file, or to no heading of a page."""
    dead = []
    for page in sorted([*folder.rglob("*.md"), *folder.rglob("*.ipynb")]):
        text = prose(page)
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)):
            name, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", name):
                continue
            there, inside = page.parent / unquote(name) if name else page, unquote(anchor)
            if not there.exists() or (inside and there.suffix == ".md" and inside not in anchors(prose(there))):
                dead.append((str(page.relative_to(folder)), target))
    return dead


def test_no_link_of_the_zip_is_dead(unpacked: Path) -> None:
    assert dead_links(unpacked) == []
    (unpacked / "docs" / "devices.md").rename(unpacked / "docs" / "elsewhere.md")
    try:
        assert ("README.md", "docs/devices.md") in dead_links(unpacked)
    finally:
        (unpacked / "docs" / "elsewhere.md").rename(unpacked / "docs" / "devices.md")


def test_an_anchor_is_a_heading(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One: two\n[x](#one-two) [y](#three) [z](b.md) ```\n[w](c.md)\n```\n")
    assert dead_links(tmp_path) == [("a.md", "#three"), ("a.md", "b.md")]


@pytest.mark.parametrize(("page", "lang"), [("README.md", "en"), ("README.zh-CN.md", "zh")])
def test_the_students_readme(unpacked: Path, page: str, lang: str) -> None:
    text = (unpacked / page).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    linked = re.findall(rf"\(notebooks/course/{lang}/(\w+)\.ipynb\)", text)
    assert linked == sorted(path.stem for path in (unpacked / "notebooks" / "course" / lang).glob("*.ipynb"))
    named = [line for line in commands(text) if line.startswith("ascend-workbook ")]
    assert len(named) > 4
    for line in named:
        verb, *words = shlex.split(line)[1:]
        build_parser(verb).parse_args([verb, *words])
        assert verb != "explain" or explain(words[0]).facts["first"]["id"], line
    assert not re.search(r"course (solve|pack|grade)", text)


def test_the_zips_targets_have_their_files(unpacked: Path) -> None:
    done = subprocess.run(["make", "help"], cwd=unpacked, capture_output=True, text=True, check=True)
    assert tuple(re.findall(r"^  make ([a-z-]+) ", done.stdout, re.M)) == TARGETS
    text = (unpacked / "Makefile").read_text(encoding="utf-8")
    files = re.findall(r"[\w/]+\.py\b|(?<=jupyterlab )\w+", text)
    assert len(files) > 1 and not [each for each in files if not (unpacked / each).exists()]
    pages = [line for page in unpacked.rglob("*.md") for line in commands(prose(page))]
    told = {name for line in pages for name in re.findall(r"^(?:[A-Z_]+=\S+ )*make ([a-z-]+)", line)}
    assert {"setup", "lab"} <= told <= set(TARGETS)


def test_a_target_whose_files_stay_here_is_cut() -> None:
    made = for_students(MAKEFILE)
    assert "X ?= 1" in made and "\nlab:  ## open\n\techo\n" in made and "tests" not in made
    assert made.startswith("# The course.")
