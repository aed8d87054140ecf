"""Solutions stand in the stubs' place, and nothing of them is in the notebooks."""

from __future__ import annotations

from pathlib import Path

import nbformat
import papermill
import pytest

from ascend_workbook.findings.errors import WorkbookError
from course import DONE, NOT_YET, load_tasks, read_record
from course.exercises.task import EXERCISES, PLANNING
from course.exercises.task import NOTEBOOKS as NOTEBOOKS_OF
from course.packing.solving import fill_stubs, find_stubs, read_solutions, write_solved
from tests.conftest import ROOT

COURSE = ROOT / "notebooks" / "course"
SOLUTIONS = COURSE / "solutions" / "05_exercises.py"
NOTEBOOKS = sorted(COURSE.glob("[ez]*/05_exercises.ipynb"))
ASKING = {NOTEBOOKS_OF[name]: name for name in (EXERCISES, PLANNING)}
BOTH = sorted(path for stem in ASKING for path in COURSE.glob(f"[ez]*/{stem}.ipynb"))


def name_path(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", BOTH, ids=name_path)
def test_every_task_has_its_stub_and_its_solution(path: Path) -> None:
    notebook, solutions = nbformat.read(path, 4), COURSE / "solutions" / f"{path.stem}.py"
    assert list(find_stubs(notebook)) == list(load_tasks(ASKING[path.stem])) == list(read_solutions(solutions))
    assert all("raise NotImplementedError" in cell.source for cell in find_stubs(notebook).values())
    text = "\n".join(cell.source for cell in notebook.cells)
    assert not [
        line
        for piece in read_solutions(solutions).values()
        for line in piece.splitlines()[1:]
        if len(line.strip()) > 24 and line.strip() in text
    ]


def test_solving_replaces_the_stubs_alone() -> None:
    notebook = nbformat.read(NOTEBOOKS[0], 4)
    solved = fill_stubs(notebook, read_solutions(SOLUTIONS))
    changed = [a.source for a, b in zip(notebook.cells, solved.cells) if a.source != b.source]
    assert changed == [cell.source for cell in find_stubs(notebook).values()]
    with pytest.raises(WorkbookError) as caught:
        fill_stubs(notebook, {"env": "x"})
    assert caught.value.key == "course.unsolved"


@pytest.mark.parametrize("notebook", ["exercises", "capstone", "planning"])
def test_a_teacher_gets_the_solved_notebook(tmp_path: Path, notebook: str) -> None:
    report = write_solved(notebook, tmp_path / "a.ipynb", lang="zh")
    made = nbformat.read(tmp_path / "a.ipynb", 4)
    told = read_solutions(COURSE / "solutions" / f"{NOTEBOOKS_OF[notebook]}.py")
    assert {name: cell.source for name, cell in find_stubs(made).items()} == told and report.facts["tasks"] == list(
        told
    )
    assert 'lang: str = "zh"' in made.cells[1].source
    assert not [cell for cell in made.cells if cell.cell_type == "code" and cell.outputs]
    with pytest.raises(WorkbookError, match="is there already"):
        write_solved(notebook, tmp_path / "a.ipynb")
    assert write_solved(notebook, tmp_path / "a.ipynb", lang="en", force=True).status.json == "Good"


def test_a_students_package_has_no_solutions(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="solutions are not here"):
        write_solved("exercises", tmp_path / "a.ipynb", project=tmp_path)
    with pytest.raises(WorkbookError, match="no notebook nope"):
        write_solved("nope", tmp_path / "a.ipynb")
    assert not (tmp_path / "a.ipynb").exists()


@pytest.mark.full
@pytest.mark.parametrize("path", BOTH, ids=name_path)
@pytest.mark.parametrize("solved", [False, True], ids=["stubs", "solved"])
def test_the_notebook_runs_to_its_end(tmp_path: Path, simulator_env: dict[str, str], path: Path, solved: bool) -> None:
    notebook, solutions = nbformat.read(path, 4), COURSE / "solutions" / f"{path.stem}.py"
    own = {"wait_s": 10} if path.stem == NOTEBOOKS_OF[EXERCISES] else {}
    given = tmp_path / "given.ipynb"
    nbformat.write(fill_stubs(notebook, read_solutions(solutions)) if solved else notebook, given)
    papermill.execute_notebook(
        str(given),
        str(tmp_path / "done.ipynb"),
        kernel_name="python3",
        progress_bar=False,
        parameters={"run_dir": str(tmp_path / "runs"), "student": "王 wang", **own},
    )
    record = read_record(tmp_path / "runs")
    assert {entry.status for entry in record.tasks.values()} == {DONE if solved else NOT_YET}
    assert list(record.tasks) == list(load_tasks(ASKING[path.stem]))
