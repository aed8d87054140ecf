"""What a user gave to run, made ready: a script, a notebook or a shell script's launch command, and what it needs.

One place decides what runs, where and with what in its environment; both sides of a dry run then do the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.migration.closure import walk
from helpers.migration.dry_run import command_line, from_shell
from helpers.migration.dry_run.cells_script import CellScript, cell_script
from helpers.migration.dry_run.layout import Layout, layout
from helpers.migration.dry_run.mirror import migrated
from helpers.migration.reading.source import LINE_END, decode, parse
from helpers.migration.reading.undecoded import Unreadable
from helpers.words import Scalar

SHOWN = 6


@dataclass(frozen=True)
class Original:
    """`given` is the user's file; `script` what runs: the same, or a script that stands for a notebook beside it.

    `texts` are the modules below the layout's root as the baseline has them, `cells` the way back to a notebook.
    `libraries` are entries of PYTHONPATH that a shell script sets and that no mirror holds: they stay as they are.
    """

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

    def migrated(self, mode: str) -> dict[Path, bytes]:
        """The modules' texts with those of the migration in their place. Raises WorkbookError."""
        sources = {file: self.texts[file] for file in self.texts if file.suffix == ".py"}
        return {**self.texts, **migrated(sources, self.script, self.layout.root, mode)[0]}

    def place(self, name: Path, line: int) -> Place:
        """A line of a module, by its path below the root, as the user has it."""
        if self.cells is not None and self.layout.root / name == self.script:
            return self.cells.place(line)
        return Place(name.as_posix(), line)

    def line(self, name: Path, number: int) -> str:
        """The source line there, without its blanks; empty where it cannot be told."""
        data = self.texts.get(self.layout.root / name)
        try:
            text = decode(data if data is not None else (self.layout.root / name).read_bytes())[0]
        except (OSError, Unreadable):
            return ""
        lines = LINE_END.split(text)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def prepare(script: str | Path, args: Sequence[str], nproc: int) -> Original:
    """Raises WorkbookError where there is nothing to run, or more than one thing."""
    shell = from_shell.read(script, args)
    words = shell.words if shell is not None else None
    path, own, nproc = command_line.read(*words, nproc) if words else command_line.read(script, args, nproc)
    path, cwd = shell.find(path) if shell is not None else (path, None)
    if not path.is_file():
        raise WorkbookError("launch.script_missing", path=str(path if path.suffix else script))
    environment = dict(shell.environment) if shell is not None else {}
    inherited = _entries(os.environ.get("PYTHONPATH", ""), cwd)
    pythonpath = _entries(environment.pop("PYTHONPATH"), cwd) if "PYTHONPATH" in environment else inherited
    cells = cell_script(path) if path.suffix == ".ipynb" else None
    runs = _free(path) if cells is not None else path
    where = layout(runs, cells.tree if cells else None, cwd, pythonpath)
    libraries = tuple(path for path in pythonpath if path not in (*inherited, *where.paths, where.folder))
    texts = {module: module.read_bytes() for module in where.modules if module != runs or cells is None}
    said = [*([shell.finding] if shell is not None else []), *_reached(where)]
    if cells is not None:
        texts |= _of_cells(cells, runs, texts, where)
        environment.setdefault("MPLBACKEND", "Agg")  # a figure that nobody closes must not stop the run
        said.append(_cells_said(cells))
    return Original(path, runs, own, nproc, where, texts, cells, environment, libraries, tuple(said))


def _entries(pythonpath: str, cwd: Path | None) -> list[Path]:
    return [Path(os.path.normpath((cwd or Path.cwd()) / entry)) for entry in pythonpath.split(os.pathsep) if entry]


def _free(notebook: Path) -> Path:
    """Beside the notebook, under a name that nothing has."""
    return next(
        path
        for number in range(1000)
        if not (path := notebook.with_name(f"{notebook.stem}{'_' + str(number) if number else ''}.ipynb.py")).exists()
    )


def _of_cells(cells: CellScript, script: Path, known: Mapping[Path, bytes], where: Layout) -> dict[Path, bytes]:
    """The notebook's script, the files its cells write, and what modules among them import."""
    made = {script: cells.text.encode("utf-8", "surrogatepass")}
    made |= {script.parent / name: text.encode("utf-8", "surrogatepass") for name, text in cells.files.items()}
    for file in [file for file in made if file.suffix == ".py" and file != script]:
        try:
            tree = parse(made[file].decode("utf-8", "surrogatepass"), file.name).tree
        except Unreadable:
            raise WorkbookError("dry_run.cell_file", path=file.name) from None
        more = [module for module in walk(file, *where.paths, tree=tree) if module.is_file()]
        made = {**{module: module.read_bytes() for module in more if module not in known}, **made}
    return made


def _cells_said(cells: CellScript) -> Finding:
    left: list[Scalar] = []
    for one in cells.left[:SHOWN]:
        left.append(f"{one.place} ({one.what or one.error})")
    args: dict[str, Scalar] = {"cells": cells.cells, "left": len(cells.left), "places": left}
    status = Status.WARN if any(one.error or one.changes for one in cells.left) else Status.OK
    return Finding("MIG148", status, "MIG148.some_cells" if cells.left else "MIG148.all_cells", args)


def _reached(where: Layout) -> list[Finding]:
    """Which modules are run, and migrated, from outside the script's folder."""
    found = []
    if where.reached:
        names: list[Scalar] = [file.relative_to(where.root).as_posix() for file in where.reached[:SHOWN]]
        more = len(where.reached) - len(names)
        paths: list[Scalar] = [str(path) for path in where.paths]
        args: dict[str, Scalar] = {
            "count": len(where.reached), "modules": [*names, *(["…"] if more > 0 else [])], "root": str(where.root),
            "cwd": str(where.cwd), "paths": paths,
        }  # fmt: skip
        found.append(Finding("MIG148", Status.OK, "MIG148.reached" if paths else "MIG148.relative", args))
    if where.outside:
        outside: list[Scalar] = [str(file) for file in where.outside[:SHOWN]]
        said: dict[str, Scalar] = {"count": len(where.outside), "modules": outside}
        found.append(Finding("MIG148", Status.WARN, "MIG148.outside", said))
    return found
