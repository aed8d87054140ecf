"""The solved notebook, for teachers and tests: pieces of a solutions file in place of the stubs.

A student's package has no solutions: there is nothing to take from it.
"""

from __future__ import annotations

import copy
import os
import re
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, choose_language
from ascend_workbook.machine.project import ROOT
from ascend_workbook.storage import write_file
from course.exercises.task import EXERCISES, NOTEBOOKS

#: A stub's cell carries this tag with the task's id.
TAG = "task-"
PIECE = re.compile(r"^# %% (\w+)\n", re.MULTILINE)


def find_stubs(notebook: Any) -> dict[str, Any]:
    """Return the cells that students write, by the task's id."""
    tagged = ((cell, tag) for cell in notebook.cells for tag in cell.metadata.get("tags", []))
    return {tag[len(TAG) :]: cell for cell, tag in tagged if tag.startswith(TAG)}


def read_solutions(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return what a solutions file says for each task: the text below a line `# %% TASK`."""
    _, *parts = PIECE.split(Path(path).read_text(encoding="utf-8"))
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2])}


def fill_stubs(notebook: Any, solutions: dict[str, str]) -> Any:
    """Return a copy of the notebook with the solutions in its stubs, without outputs.

    Raises WorkbookError `course.unsolved` where a stub has no solution, or a solution no stub.
    """
    solved_copy = copy.deepcopy(notebook)
    cells = find_stubs(solved_copy)
    if cells.keys() != solutions.keys():
        raise WorkbookError("course.unsolved", tasks=sorted(cells.keys() ^ solutions.keys()))
    for name, cell in cells.items():
        cell.source = solutions[name]
    for cell in solved_copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return solved_copy


def write_solved(
    notebook: str = EXERCISES,
    out: str | os.PathLike[str] = "solved.ipynb",
    *,
    lang: str | None = None,
    project: Path = ROOT,
    force: bool = False,
) -> Report:
    """Write the notebook of NOTEBOOKS in that language with its solutions, not run.

    Raises WorkbookError for another notebook, where `out` is there already and not `force`, and where the project has
    no solutions.
    """
    import nbformat

    if notebook not in NOTEBOOKS:
        raise WorkbookError("course.unknown_notebook", given=notebook, known=list(NOTEBOOKS))
    course, target = project / "notebooks" / "course", Path(out)
    solutions = course / "solutions" / f"{NOTEBOOKS[notebook]}.py"
    if not solutions.is_file():
        raise WorkbookError("solving.no_solutions", path=str(solutions))
    if target.exists() and not force:
        raise WorkbookError("packing.exists", path=str(target))
    answers = read_solutions(solutions)
    filled = fill_stubs(nbformat.read(course / choose_language(lang) / f"{NOTEBOOKS[notebook]}.ipynb", 4), answers)
    write_file(target, nbformat.writes(filled) + "\n")
    args: dict[str, Scalar] = {"path": str(target), "tasks": list(answers)}
    return Report("course", "course_solve", (Finding("CRS005", Status.GOOD, "CRS005.solved", args),), facts=args)
