"""The solved notebook, for teachers and tests: pieces of a solutions file in place of the stubs."""

from __future__ import annotations

import copy
import os
import re
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError

#: A stub's cell carries this tag with the task's id.
TAG = "task-"
PIECE = re.compile(r"^# %% (\w+)\n", re.MULTILINE)


def stubs(notebook: Any) -> dict[str, Any]:
    """The cells that students write, by the task's id."""
    tagged = ((cell, tag) for cell in notebook.cells for tag in cell.metadata.get("tags", []))
    return {tag[len(TAG) :]: cell for cell, tag in tagged if tag.startswith(TAG)}


def pieces(path: str | os.PathLike[str]) -> dict[str, str]:
    """What a solutions file says for each task: the text below a line `# %% TASK`."""
    _, *parts = PIECE.split(Path(path).read_text(encoding="utf-8"))
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2])}


def solve(notebook: Any, solutions: dict[str, str]) -> Any:
    """A copy of the notebook with the solutions in its stubs, without outputs.

    Raises WorkbookError `course.unsolved` where a stub has no solution, or a solution no stub.
    """
    made = copy.deepcopy(notebook)
    cells = stubs(made)
    if cells.keys() != solutions.keys():
        raise WorkbookError("course.unsolved", tasks=sorted(cells.keys() ^ solutions.keys()))
    for name, cell in cells.items():
        cell.source = solutions[name]
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return made
