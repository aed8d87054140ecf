"""What a submission sees while it runs: the course without what judges, and nobody's work but its own.

The package is copied with each task's questions and none of its checks; the installation's own, the solutions and all
that other students handed in are hidden by the enclosure (ascend_workbook/machine/sandbox).
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ascend_workbook.machine import simulator
from ascend_workbook.machine.project import ROOT

PACKAGE = Path(__file__).resolve().parents[1]
#: Of the package: what grades, packs and solves.
LEFT_OUT = ("grading", "packing")
#: What the notebooks ask of a task's file beside the task itself; its check, and what that alone uses, are left out.
QUESTIONS = {
    "tasks/env.py": ("machine", "broken"),
    "tasks/script.py": ("broken",),
    "tasks/fault.py": ("evidence",),
    "tasks/loop.py": ("measured", "seconds"),
    "tasks/ranks.py": ("broken",),
    "tasks/half.py": ("broken",),
    "tasks/fit.py": ("ARGUMENTS", "CARDS"),
    "tasks/launches.py": ("ARGUMENTS",),
    "exercises/capstone.py": ("SCRIPT", "STAGES", "check_stage", "handed_in"),
}
ALWAYS = ("TASK", "ORDER")
#: What judges: a function of these parameters.
JUDGES = ["answer", "place"]
STUB = "def {}(answer, place):\n    raise NotImplementedError('answers are judged elsewhere')\n"
#: Folders of packages: a project that is installed in one of them has no folder of its own.
PACKAGES = ("site-packages", "dist-packages")
#: Of the project: folders that a cell may need.
NEEDED = ("ascend_workbook", "ascend_simulator", "helpers", "notebooks/scripts", "notebooks/course/scripts")


def write_package(folder: Path) -> None:
    """Write the package `course`, without what judges, below a folder, for every user to read."""
    for path in sorted(PACKAGE.rglob("*")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] in LEFT_OUT or "__pycache__" in place.parts or not path.is_file():
            continue
        target = folder / PACKAGE.name / place
        target.parent.mkdir(parents=True, exist_ok=True)
        questions = QUESTIONS.get(place.as_posix())
        data = path.read_bytes()
        target.write_bytes(data if questions is None else keep_questions(data.decode("utf-8"), questions).encode())
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def keep_questions(source: str, questions: Iterable[str]) -> str:
    """Return a task's file with what its questions use, and checks that judge nothing."""
    tree = ast.parse(source)
    statements = {name: node for node in tree.body for name in _names_of(node)}
    judges = {name for name, node in statements.items() if _parameters_of(node) == JUDGES}
    needed = {name for name in (*questions, *ALWAYS) if name in statements}
    left = sorted(needed)
    while left:
        node = statements[left.pop()]
        used = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)} & statements.keys()
        new = used - needed - judges
        needed |= new
        left += sorted(new)
    body = [node for node in tree.body if needed.intersection(_names_of(node))]
    used = {child.id for node in body for child in ast.walk(node) if isinstance(child, ast.Name)}
    texts = ["from __future__ import annotations", *map(STUB.format, sorted(judges))]
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):  # what a check alone imports may have been left out there
            node.names = [name for name in node.names if (name.asname or name.name.partition(".")[0]) in used]
            texts += [ast.unparse(node)] if node.names else []
    return "\n".join([*texts, *map(ast.unparse, body)]) + "\n"


def _parameters_of(node: ast.stmt) -> list[str]:
    return [argument.arg for argument in node.args.args] if isinstance(node, ast.FunctionDef) else []


def _names_of(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement at the top of a file defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (child.id for target in node.targets for child in ast.walk(target) if isinstance(child, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def list_hidden(private: Iterable[Path], own: Iterable[Path], *, judge: bool) -> tuple[Path, ...]:
    """List the files and folders that the enclosure is to hide.

    private: places of which only what is `own` is seen, wherever programs lie: submissions, other runs, tables. Of the
    project and of the home folder only what programs are made of stays; the judge alone sees the course's package.
    """
    mine = {path.resolve() for path in own}
    shown = {*mine, *(path.resolve() for path in _list_programs())} - {ROOT, Path.home(), Path.cwd(), Path("/")}
    if not judge:
        shown.discard(PACKAGE)
    elif PACKAGE.parent == ROOT:
        shown.add(PACKAGE)
    folders = [entry for entry in ROOT.iterdir() if entry.is_dir()] if ROOT.name not in PACKAGES else []
    folders += _history()
    home = [Path.home()] if Path.home().resolve() != Path("/") else []
    hidden = [] if judge else [PACKAGE.resolve()]
    for place in (*folders, *home):
        hidden += hide_all_but(place.resolve(), shown)
    for place in private:
        hidden += hide_all_but(place.resolve(), mine)
    return (*dict.fromkeys(hidden),)


def _history() -> list[Path]:
    """List where git keeps the solutions: the project's `.git`, and what it names where the project is a work tree."""
    entry = ROOT / ".git"
    if not entry.is_file():
        return []
    folder = Path(entry.read_text(encoding="utf-8").partition("gitdir:")[2].strip())
    return [entry, *(parent for parent in folder.parents if parent.name == ".git")]


def _list_programs() -> list[Path]:
    """List where the programs lie that a cell runs: Python, its packages, CANN, the simulated NPU."""
    entries = [*sys.path, *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]
    entries += [text for name, text in os.environ.items() if name.startswith("ASCEND_") and text.startswith("/")]
    places = [Path(entry) for entry in entries if entry]
    python = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve()]
    project = [ROOT / name for name in NEEDED]
    outside = [place for place in places if ROOT not in place.resolve().parents]  # of the project only what is NEEDED
    return [*outside, *python, simulator.simulator_location(), *project]


def hide_all_but(place: Path, shown: set[Path]) -> Iterator[Path]:
    """Yield what of a place has to be hidden so that no more is seen of it than what is shown and the way there."""
    if place in shown or any(path in place.parents for path in shown):
        return
    if not any(place in path.parents for path in shown):
        if place.exists():
            yield place
        return
    for entry in sorted(place.iterdir()):
        if not entry.is_symlink():
            yield from hide_all_but(entry, shown)
