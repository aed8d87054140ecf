"""A notebook's code cells as one script to run, with the way back from its lines to the cells.

Cells are read as `scan` reads them: a cell magic that runs this notebook's Python is blanked, files that %%writefile
makes lie beside the script from the start, and what is a shell's, IPython's or another language's is left out.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Place
from ascend_workbook.migration.reading.source import LINE_END, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.texts import notebook
from ascend_workbook.migration.texts.launches import find_launches, other_scripts
from ascend_workbook.migration.texts.notebook import read_cell

#: Magics that no training needs.
HARMLESS = re.compile(r"\s*%(?:matplotlib|load_ext|reload_ext|autoreload|config|precision|pylab\b)")
#: Line magics that change what the cells below do; what a magic or a command gives to a name is not known either.
CHANGES = re.compile(
    r"\s*(?:%(?:(?:cd|pushd|popd|run|load|loadpy|set_env|reset|store)\b|env\s+\S)|[A-Za-z_][^%!]*=\s*[!%])"
)
#: Cell magics that run what a training may need: Python elsewhere, or a file that is left out.
RUNS = notebook.WRITES | {"python", "python2", "python3", "pypy", "cython", "script", "run"}
APPEND = re.compile(r"%%\w+\s+(?:-a|--append)\b")


@dataclass(frozen=True)
class Left:
    """What is not run: a cell, or from a line of it. `what` is how the line begins. `changes`: it trains, or changes
    what the cells below do."""

    place: Place
    what: str
    error: str = ""
    changes: bool = False


@dataclass(frozen=True)
class CellScript:
    """`files` are what cells write, by their path beside the notebook; `at` is the place of each line of `text`."""

    text: str
    tree: ast.Module
    files: dict[str, str]
    at: tuple[Place, ...]
    left: tuple[Left, ...]
    cells: int

    def place_of_line(self, line: int) -> Place:
        return self.at[min(max(line, 1), len(self.at)) - 1]


def cell_script(file: Path) -> CellScript:
    """Read a notebook's code cells as one script. Raises WorkbookError where it is no notebook of Python, or has no
    code to run.
    """
    try:
        cells = list(notebook.code_cells(file.read_bytes()))
        return _join_cells(file.name, cells)
    except Unreadable as cause:
        raise WorkbookError("MIG100.unreadable", path=str(file), **cause.sentence_args) from cause


def _join_cells(name: str, cells: list[tuple[int, str]]) -> CellScript:
    lines: list[str] = []
    at: list[Place] = []
    files: dict[str, str] = {}
    left: list[Left] = []
    future: list[str] = []
    run = 0
    for number, code in cells:
        place = f"{name}#cell{number}"
        if notebook.is_foreign(code):
            written_file = _file_written_by_cell(code)
            if written_file is None:
                left.append(Left(Place(place, 1), LINE_END.split(code.strip(), 1)[0], changes=_cell_changes(code)))
            else:
                files[written_file[0]] = written_file[1]
            continue
        cell = read_cell(code)
        if cell.error is not None:
            left.append(Left(Place(place, cell.error.lineno or 0), "", cell.error.msg))
            continue
        cell_lines, trains = LINE_END.split(code), _training_lines(cell.shell)
        for line, (before, after) in enumerate(zip(cell_lines, cell.python.split("\n")), 1):
            if before != after and after.strip() and not _runs_on(before, after):
                changes = line in trains or bool(CHANGES.match(before))
                left.append(Left(Place(place, line), before.strip(), changes=changes))
            at.append(Place(place, line))
        lines += _without_future(cell.python, future)
        run += bool(code.strip())
    if not run:
        raise WorkbookError("dry_run.no_cells", path=name)
    if future:  # legal in any cell of a notebook, but only at the top of a script
        lines.insert(0, f"from __future__ import {', '.join(future)}")
        at.insert(0, at[0])
    text = "\n".join(lines) + "\n"
    try:
        tree = parse_text(text, name).tree
    except Unreadable as cause:
        place_of = at[min(max(cause.line, 1), len(at)) - 1]
        raise WorkbookError("MIG100.unreadable", path=str(place_of), **{**cause.sentence_args, "at": ""}) from cause
    return CellScript(text, tree, files, tuple(at), tuple(left), run)


def _file_written_by_cell(code: str) -> tuple[str, str] | None:
    """Return name and text of the file that a cell writes; None where it writes none, appends, or leads out of the
    folder.
    """
    magic = notebook.CELL_MAGIC.match(code)
    if magic is None or magic.group(1) not in notebook.WRITES or APPEND.match(code.lstrip()):
        return None
    words = magic.group(2).split()
    name = PurePosixPath(words[-1].strip("'\"")) if words else None
    if name is None or name.is_absolute() or ".." in name.parts:
        return None
    return str(name), code[notebook.magic_end(code) :]


def _without_future(python: str, future: list[str]) -> list[str]:
    """A cell's lines, `pass` where it imports from __future__; what it imports goes to `future`."""
    lines = python.split("\n")
    for node in ast.parse(python).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            future += [name.name for name in node.names if name.name not in future]
            first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
            behind = lines[last].encode()[node.end_col_offset :].decode()
            lines[first] = lines[first].encode()[: node.col_offset].decode() + "pass" + behind
            lines[first + 1 : last + 1] = [""] * (last - first)
    return lines


def _cell_changes(code: str) -> bool:
    magic = notebook.CELL_MAGIC.match(code)
    name = magic.group(1) if magic else ""
    return name in RUNS or name in notebook.SHELLS and bool(_training_lines(notebook.split_foreign_cell(code)[1]))


def _training_lines(commands: str) -> set[int]:
    """The lines of a shell's commands that train, or run another script."""
    lines = {launch.line for launch in find_launches(commands, ".", (), {})}
    return lines | {line for line, _ in other_scripts(commands)}


def _runs_on(before: str, after: str) -> bool:
    """Nothing of the training is left out: only a clock, or what draws and reloads."""
    magic = notebook.CELL_MAGIC.match(before)
    if magic is not None and magic.group(1) in notebook.TRANSPARENT or HARMLESS.match(before):
        return True
    return after.lstrip().startswith("0;") and before.rstrip().endswith(after.lstrip()[2:].strip())
