"""What a user gave to run, made ready: a script, a notebook or a shell script's launch command, and what it needs.

One place decides what runs, where and with what in its environment; both sides of a dry run then do the same.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.dry_run.command_line import read_command, read_shell_command
from ascend_workbook.migration.dry_run.layout import Layout, find_layout, find_start
from ascend_workbook.migration.dry_run.mirror import migrate_modules
from ascend_workbook.migration.reading.source import LINE_END, decode_bytes, parse_text
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
    """A cell, or from a line of it, that is not run; `what`: how it begins; `changes`: the cells below may need it."""

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


def cell_script(file: Path, data: bytes | None = None) -> CellScript:
    """Read a notebook's cells as one script; `data` is its content where that is not the file's.

    Raises WorkbookError where it is none of Python, or without code."""
    try:
        return _join_cells(file.name, list(notebook.code_cells(file.read_bytes() if data is None else data)))
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
    """Return name and text of the file that a cell writes; None where it writes none, appends, or leads out."""
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


SHOWN = 6


@dataclass(frozen=True)
class Original:
    """`given` is the user's file; `script` what runs: the same, or a script that stands for a notebook beside it;
    `shell` the shell script that launches it, and `asked` all that was given to run.

    `texts` are the modules below the layout's root as the baseline has them, `cells` the way back to a notebook.
    `libraries` are entries of PYTHONPATH that a shell script sets and that no mirror holds: they stay as they are."""

    given: Path
    script: Path
    args: tuple[str, ...]
    nproc: int
    layout: Layout
    texts: Mapping[Path, bytes]
    cells: CellScript | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()
    shell: Path | None = None
    asked: tuple[str, ...] = ()

    def launch_with(self, data: bytes) -> Original:
        """Return the same training as another content of its shell script launches it. Raises WorkbookError."""
        return prepare_training(self.asked[0], self.asked[1:], self.nproc, data)

    def migrate_texts(self, mode: str) -> dict[Path, bytes]:
        """The modules' texts with those of the migration in their place. Raises WorkbookError."""
        sources = {file: self.texts[file] for file in self.texts if file.suffix == ".py"}
        return {**self.texts, **migrate_modules(sources, self.script, self.layout.root, mode)[0]}

    def place_of_line(self, name: Path, line: int) -> Place:
        """Return a line of a module, by its path below the root, as the user has it."""
        if self.cells is not None and self.layout.root / name == self.script:
            return self.cells.place_of_line(line)
        return Place(name.as_posix(), line)

    def read_line(self, name: Path, number: int) -> str:
        """Read the source line there, without its blanks; empty where it cannot be told."""
        data = self.texts.get(self.layout.root / name)
        try:
            text = decode_bytes(data if data is not None else (self.layout.root / name).read_bytes())[0]
        except (OSError, Unreadable):
            return ""
        lines = LINE_END.split(text)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def prepare_training(script: str | Path, args: Sequence[str], nproc: int, data: bytes | None = None) -> Original:
    """Read the training behind a command; `data` is the content of its shell script where that is not the file's.

    Raises WorkbookError where there is nothing or more than one thing to run."""
    shell = read_shell_command(script, args, data)
    words = shell.words if shell is not None else None
    path, own, nproc = read_command(*words, nproc) if words else read_command(script, args, nproc)
    path, cwd = shell.find_script(path) if shell is not None else (path, None)
    if not path.is_file():
        raise WorkbookError("launch.script_missing", path=str(path if path.suffix else script))
    environment = dict(shell.environment) if shell is not None else {}
    inherited = _split_pythonpath(os.environ.get("PYTHONPATH", ""), cwd)
    pythonpath = _split_pythonpath(environment.pop("PYTHONPATH"), cwd) if "PYTHONPATH" in environment else inherited
    cells = cell_script(path) if path.suffix == ".ipynb" else None
    runs = path
    if cells is not None:  # beside the notebook, under a name that nothing has
        names = (f"{path.stem}{f'_{number}' if number else ''}.ipynb.py" for number in range(1000))
        runs = next(free for name in names if not (free := path.with_name(name)).exists())
    tree = cells.tree if cells else None
    start = cwd if cwd is not None else find_start(runs.absolute(), own, tree)
    where = find_layout(runs, tree, start, pythonpath)
    libraries = tuple(path for path in pythonpath if path not in (*inherited, *where.paths, where.folder))
    texts = {module: module.read_bytes() for module in where.modules if module != runs or cells is None}
    launch_findings = [*([shell.finding] if shell is not None else []), *_report_reached_modules(where)]
    if cells is not None:
        texts |= _collect_cell_files(cells, runs, texts, where)
        environment.setdefault("MPLBACKEND", "Agg")  # a figure that nobody closes must not stop the run
        left: dict[str, Scalar] = {"cells": cells.cells, "left": len(cells.left)}
        left["places"] = [f"{cell.place} ({cell.what or cell.error})" for cell in cells.left[:SHOWN]]
        status = Status.LOOK if any(cell.error or cell.changes for cell in cells.left) else Status.GOOD
        key = "MIG148.some_cells" if cells.left else "MIG148.all_cells"
        launch_findings.append(Finding("MIG148", status, key, left))
    asked = (str(script), *map(str, args))
    file, findings = shell.file if shell is not None else None, tuple(launch_findings)
    return Original(path, runs, own, nproc, where, texts, cells, environment, libraries, findings, file, asked)


def _split_pythonpath(pythonpath: str, cwd: Path | None) -> list[Path]:
    return [Path(os.path.normpath((cwd or Path.cwd()) / entry)) for entry in pythonpath.split(os.pathsep) if entry]


def _collect_cell_files(
    cells: CellScript, script: Path, known: Mapping[Path, bytes], where: Layout
) -> dict[Path, bytes]:
    """The notebook's script, the files its cells write, and what modules among them import."""
    contents = {script: cells.text.encode("utf-8", "surrogatepass")}
    contents |= {script.parent / name: text.encode("utf-8", "surrogatepass") for name, text in cells.files.items()}
    for file in [file for file in contents if file.suffix == ".py" and file != script]:
        try:
            tree = parse_text(contents[file].decode("utf-8", "surrogatepass"), file.name).tree
        except Unreadable:
            raise WorkbookError("dry_run.cell_file", path=file.name) from None
        more = [module for module in walk_imports(file, *where.paths, tree=tree) if module.is_file()]
        contents = {**{module: module.read_bytes() for module in more if module not in known}, **contents}
    return contents


def _report_reached_modules(where: Layout) -> list[Finding]:
    """Which modules are run, and migrated, from outside the script's folder."""
    module_findings = []
    if where.reached_modules:
        names: list[Scalar] = [file.relative_to(where.root).as_posix() for file in where.reached_modules[:SHOWN]]
        more = len(where.reached_modules) - len(names)
        paths: list[Scalar] = [str(path) for path in where.paths]
        args: dict[str, Scalar] = {
            "count": len(where.reached_modules),
            "modules": [*names, *(["…"] if more > 0 else [])],
            "root": str(where.root),
            "cwd": str(where.cwd),
            "paths": paths,
        }
        module_findings.append(Finding("MIG148", Status.GOOD, "MIG148.reached" if paths else "MIG148.relative", args))
    if where.outside:
        outside: list[Scalar] = [str(file) for file in where.outside[:SHOWN]]
        outside_args: dict[str, Scalar] = {"count": len(where.outside), "modules": outside}
        module_findings.append(Finding("MIG148", Status.LOOK, "MIG148.outside", outside_args))
    return module_findings
