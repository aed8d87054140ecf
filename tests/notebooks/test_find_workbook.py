"""The set-up cell that every notebook has finds the workbook, or fetches it, or says how; before anything is here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.notebooks.test_sources import PAIRS, build, code, stem

CELL = build.set_up_cell("en").source
SHOWN = "import pathlib\n\ndef prepare(lang):\n    print('prepared', lang, pathlib.Path(__file__).parents[1])\n"
MOST_LINES, LONGEST = 4, 108
#: Of the home folder what ModelArts keeps.
KEPT = "work"
NOTEBOOK = "01_environment.ipynb"


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A folder with one notebook in it and nothing above."""
    folder = tmp_path / "home" / KEPT / "mine"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """What the cell looks for, no more."""
    root = tmp_path / "elsewhere" / "ascend-workbook-main"
    (root / "helpers").mkdir(parents=True)
    (root / "ascend_workbook" / "cli").mkdir(parents=True)
    (root / "ascend_workbook" / "__init__.py").touch()
    (root / "ascend_workbook" / "cli" / "__init__.py").touch()
    (root / "helpers" / "__init__.py").touch()
    (root / "helpers" / "notebook.py").write_text(SHOWN)
    return root


def lay_notebook(folder: Path) -> None:
    """A notebook that carries the finder, as all do, in the folder that its kernel starts in."""
    (folder / NOTEBOOK).write_text(json.dumps({"metadata": {"finder": build.finder()}}), encoding="utf-8")


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The cell in a Python that has nothing installed, in this folder, where its notebook is."""
    lay_notebook(folder)
    home = {"HOME": str(folder.parents[1]), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    base = getattr(sys, "_base_executable", sys.executable)
    command = [base, "-E", "-s", "-S", "-c", f"lang = 'en'\n{CELL}"]
    return subprocess.run(command, cwd=folder, env={**home, **environment}, capture_output=True, text=True, check=False)


def test_it_is_in_every_notebook_after_the_parameters() -> None:
    for source, lang in PAIRS:
        notebook = build.build(source, lang)
        at = [n for n, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])][0]
        cell = build.set_up_cell(lang)
        assert notebook.cells[at + 1].source == cell.source and code(notebook).count(cell.source) == 1, stem(source)
        assert notebook.cells[at + 1].metadata["jupyter"]["source_hidden"]
        assert notebook.metadata["finder"] == build.finder()
        assert build.built(source, lang).name.startswith("0"), "as the cell looks for it"
        lines = cell.source.splitlines()
        assert len(lines) <= MOST_LINES and all(len(line) <= LONGEST for line in lines)


def test_without_a_source_it_says_how(alone: Path) -> None:
    done = run(alone)
    assert done.returncode and "git clone URL" in done.stderr and str(alone / "ascend-workbook") in done.stderr
    assert [path.name for path in alone.iterdir()] == [NOTEBOOK]


@pytest.mark.parametrize("place", ["", "notebooks/zh", "notebooks/course/en"])
def test_a_checkouts_notebook_finds_it(workbook: Path, place: str) -> None:
    (workbook / place).mkdir(parents=True, exist_ok=True)
    done = run(workbook / place)
    assert done.stdout.split() == ["prepared", "en", str(workbook)] and not done.stderr, done.stderr


@pytest.mark.parametrize("place", ["mine/ascend-workbook", "ascend-workbook", "any"])
def test_one_beside_the_notebook_or_in_work_is_found(tmp_path: Path, alone: Path, workbook: Path, place: str) -> None:
    place = f"home/{KEPT}/{place}"
    shutil.copytree(workbook, tmp_path / place)
    done = run(alone, ASCEND_WORKBOOK_SOURCE="https://nowhere.invalid/x.git")  # here already: not fetched
    assert done.stdout.split()[-1:] == [str(tmp_path / place)], done.stderr


def test_it_is_where_the_variable_says(alone: Path, workbook: Path) -> None:
    assert run(alone, ASCEND_WORKBOOK_HOME=str(workbook)).stdout.split()[-1:] == [str(workbook)]


def git(*words: str, folder: Path) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git")
def test_it_is_cloned(alone: Path, workbook: Path) -> None:
    for words in (["init"], ["add", "."], ["commit", "-m", "one"]):
        git(*words, folder=workbook)
    done = run(alone, ASCEND_WORKBOOK_SOURCE=f"file://{workbook}")
    assert done.stdout.split()[-1:] == [str(alone / "ascend-workbook")], done.stderr
    assert run(alone, ASCEND_WORKBOOK_SOURCE="file:///none").stdout == done.stdout  # the second time nothing is fetched


@pytest.mark.parametrize("top", [True, False], ids=["folder-in-it", "no-folder"])
def test_it_is_unpacked(alone: Path, workbook: Path, top: bool) -> None:
    shutil.make_archive(str(alone / "it"), "zip", workbook.parent if top else workbook)
    done = run(alone, ASCEND_WORKBOOK_SOURCE="it.zip")
    expected = alone / "ascend-workbook" / ("ascend-workbook-main" if top else "")
    assert done.stdout.split()[-1:] == [str(expected)], done.stderr
    (expected / "helpers" / "__init__.py").write_text("edited = True\n")
    assert run(alone, ASCEND_WORKBOOK_SOURCE="it.zip").stdout == done.stdout
    assert (expected / "helpers" / "__init__.py").read_text() == "edited = True\n" and not [*alone.glob("*.part")]


def test_a_folder_of_its_name_that_is_another_stays(alone: Path, workbook: Path) -> None:
    shutil.make_archive(str(alone.parent / "it"), "zip", workbook)
    (alone / "ascend-workbook").mkdir()
    (alone / "ascend-workbook" / "mine.txt").touch()
    done = run(alone, ASCEND_WORKBOOK_SOURCE=f"~/{KEPT}/it.zip")
    assert done.returncode and "Directory not empty" in done.stderr
    (alone / "ascend-workbook" / "mine.txt").unlink()
    assert run(alone, ASCEND_WORKBOOK_SOURCE=f"~/{KEPT}/it.zip").stdout.startswith("prepared en")


def test_moxing_brings_it_from_obs(alone: Path, workbook: Path) -> None:
    """A stand-in with ModelArts' own call; `moxing` of PyPI, which is something else, has none and stops the cell."""
    copy = f"shutil.copytree({str(workbook)!r}, target) if source == 'obs://bucket/it' else 1 / 0"
    (alone / "moxing.py").write_text(
        f"import shutil\nclass file:\n    def copy_parallel(source, target):\n        {copy}\n"
    )
    done = run(alone, ASCEND_WORKBOOK_SOURCE="obs://bucket/it")
    assert done.stdout.split()[-1:] == [str(alone / "ascend-workbook")], done.stderr
    shutil.rmtree(alone / "ascend-workbook")
    (alone / "moxing.py").write_text("")
    done = run(alone, ASCEND_WORKBOOK_SOURCE="obs://bucket/it")
    assert done.returncode and "has no attribute 'file'" in done.stderr


@pytest.mark.parametrize("where", [{}, {"ASCEND_WORKBOOK_HOME": "../kept"}], ids=["beside", "in-work"])
def test_a_fetch_that_was_killed_is_done_again(alone: Path, workbook: Path, where: dict[str, str]) -> None:
    head = "import os, shutil\nclass file:\n    def copy_parallel(source, target):\n"
    copy = f"{head}        shutil.copytree({str(workbook)!r}, target)\n"
    lost = "        shutil.rmtree(os.path.join(target, 'helpers'))\n        os._exit(9)\n"
    told = {"ASCEND_WORKBOOK_SOURCE": "obs://bucket/it", **where}
    (alone / "moxing.py").write_text(copy + lost)
    assert run(alone, **told).returncode == 9
    (alone / "moxing.py").write_text(copy)
    done = run(alone, **told)
    assert done.stdout.startswith("prepared en") and not [*alone.parent.rglob("*.part")], done.stderr


def test_a_failed_fetch_stops_with_gits_words(alone: Path) -> None:
    done = run(alone, ASCEND_WORKBOOK_SOURCE="file:///none/it.git")
    assert done.returncode and "/none/it.git" in done.stderr and "CalledProcessError" in done.stderr
    assert not (alone / "ascend-workbook").exists()


def test_a_notebook_of_another_project_is_not_run(alone: Path, workbook: Path) -> None:
    (alone / "other.ipynb").write_text('{"metadata": {"finder": "1 / 0"}}')
    (alone / "00_other.ipynb").write_text('{"metadata": {}}')
    assert run(alone, ASCEND_WORKBOOK_HOME=str(workbook)).stdout.split()[-1:] == [str(workbook)]


def test_the_host_sets_the_address_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 'get("ASCEND_WORKBOOK_SOURCE", "")' in build.finder()
    told = build.finder('https://git.example/"it".git')
    assert '"ASCEND_WORKBOOK_SOURCE", "https://git.example/\\"it\\".git")' in told and told.count("git.example") == 1
