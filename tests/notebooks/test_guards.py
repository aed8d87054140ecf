"""The guards hold on what is committed, and each is seen to fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.conftest import ROOT
from tests.notebooks import guards

REFERENCES = sorted((ROOT / "tests" / "reference").rglob("*.ipynb"))
COMMITTED = sorted(path for end in ("", "course/") for path in (ROOT / "notebooks").glob(f"{end}[ez]*/*.ipynb"))
SANITIZE = ROOT / "tests" / "sanitize.cfg"


def names(path: Path) -> str:
    return "-".join(path.relative_to(ROOT).with_suffix("").parts[1:])


def cell(source: str, *outputs: Any, count: int | None = 1) -> Any:
    return nbformat.v4.new_code_cell(source, outputs=list(outputs), execution_count=count)


def book(*cells: Any) -> Any:
    return nbformat.v4.new_notebook(cells=list(cells))


PICTURE = nbformat.v4.new_output("display_data", {"image/png": "AAAA"})


def test_there_is_something_to_guard() -> None:
    sources = len(list((ROOT / "notebooks" / "source").rglob("*.py")))
    assert len(REFERENCES) == sources >= 5 and len(COMMITTED) == 2 * sources


@pytest.mark.parametrize("path", REFERENCES + COMMITTED, ids=names)
def test_every_cell_was_run(path: Path) -> None:
    assert guards.unrun(nbformat.read(path, 4)) == []


@pytest.mark.parametrize("path", REFERENCES + COMMITTED, ids=names)
def test_every_picture_has_its_facts(path: Path) -> None:
    assert guards.bare_pictures(nbformat.read(path, 4)) == []


@pytest.mark.parametrize("path", REFERENCES + COMMITTED, ids=names)
def test_no_error_was_committed(path: Path) -> None:
    assert guards.errors(nbformat.read(path, 4)) == []


@pytest.mark.parametrize("path", REFERENCES, ids=names)
def test_most_cells_are_compared(path: Path) -> None:
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert len(guards.not_compared(notebook)) <= len(code) / 2


@pytest.mark.parametrize("text", guards.PROTECTED)
def test_sanitising_leaves_verdicts_and_losses(text: str) -> None:
    assert guards.sanitise(text, guards.sanitisers(SANITIZE)) == text


def test_sanitising_takes_times() -> None:
    rules = guards.sanitisers(SANITIZE)
    assert guards.sanitise("step 12.3 ms, 4 s, 1.5 GB/s", rules) == "step <TIME>, <TIME>, <SIZE>"


def test_nothing_runs_notebooks_with_split_cells() -> None:
    for path in (ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / "tests" / "run.py"):
        for line in path.read_text().splitlines():
            if "pytest" in line or "addopts" in line:
                assert not guards.splits_notebooks(line), f"{path.name}: {line}"


class TestTheGuardsCanFail:
    def test_an_unrun_cell(self) -> None:
        assert guards.unrun(book(cell("1"), cell("2", count=None), cell(""))) == [2]

    def test_a_bare_picture(self) -> None:
        drawn = {"text/html": "<p><svg></svg>", guards.FACTS: {"chart": "bars by x: y (3 points 1..2)"}}
        told, bare = (nbformat.v4.new_output("display_data", data) for data in (drawn, {**drawn, guards.FACTS: {}}))
        assert guards.bare_pictures(book(cell("a", PICTURE), cell("b", PICTURE, told), cell("c", bare))) == [1, 3]

    def test_an_error(self) -> None:
        error = nbformat.v4.new_output("error", ename="ValueError", evalue="boom", traceback=[])
        assert guards.errors(book(cell("a", error))) == ["ValueError: boom"]

    def test_a_rule_that_would_hide_a_loss(self, tmp_path: Path) -> None:
        greedy = tmp_path / "sanitize.cfg"
        greedy.write_text(r"regex: \d+\.\d+" + "\nreplace: <N>\n")
        rules = guards.sanitisers(greedy)
        assert any(guards.sanitise(text, rules) != text for text in guards.PROTECTED)

    @pytest.mark.parametrize("options", ["-n 2", "pytest -n auto --nbval", "--numprocesses=4 --dist load"])
    def test_split_cells(self, options: str) -> None:
        assert guards.splits_notebooks(options)

    @pytest.mark.parametrize("options", ["-q", "-n 0", "-n 2 --dist loadfile", "-n auto --dist=loadscope"])
    def test_whole_notebooks(self, options: str) -> None:
        assert not guards.splits_notebooks(options)
