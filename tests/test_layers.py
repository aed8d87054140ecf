"""Imports point down; `import helpers` is light; torch_npu is imported by nothing at import time."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import helpers
from tests.conftest import ROOT

PACKAGES = tuple(ROOT / name for name in ("ascend_workbook", "ascend_simulator", "course", "helpers"))
#: From the bottom up; a module may import its own room and rooms of the floors strictly below. All that lies in
#: `machine` is one room: its folders `launch`, `simulator` and `settings` too.
FLOORS = (
    ("findings", "ascend_simulator"),
    ("redaction",),
    ("storage", "show"),
    ("diagnose",),  # reads texts only; launch, the stages and batch show what it says of an error
    ("machine", "page", "estimates"),
    ("environment", "migration", "precision", "profiling"),
    ("batch", "selftest", "modelarts", "planning"),  # planning runs trainings as the migration stage does
    ("inference",),  # measures as the precision stage does, reads models as planning does
    ("cli",),
    ("helpers",),
    ("course",),  # lessons and exercises: made of all that is below
)
#: The longest chain of rooms that import one another may have so many.
MOST_FLOORS = 10
#: What alone knows the inside of the simulator: the room that shows its coverage and its operators.
SEAM = "ascend_workbook.machine.simulator"
#: Folders that the simulator imports into the process that trains; and files started by path in a child of their own:
#: they import nothing of ours at all.
IN_TRAINED_PROCESS = (("ascend_simulator", "references"), ("ascend_simulator", "shapes_only"))
STARTED_BY_PATH = ("tools/bootstrap.py", "ascend_workbook/machine/device_probe.py")
HEAVY = {"torch", "torch_npu", "msprobe", "transformers", "papermill", "matplotlib", "pandas"}
OURS = {package.name for package in PACKAGES}
RANK = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}


def room_of(module: str) -> str:
    """Return the room of a module: `ascend_workbook.show.card` -> `show`, `course.quiz` -> `course`."""
    package, _, rest = module.partition(".")
    return (rest.partition(".")[0] or "findings") if package == "ascend_workbook" else package


def read_by_checkers(tree: ast.AST) -> set[ast.AST]:
    """Return what stands under `if TYPE_CHECKING` and is never run."""
    tests = (node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    return {child for node in tests for child in ast.walk(node)}


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield (module, at the top level?) of every import in the file."""
    top = set(ast.iter_child_nodes(tree))
    typing_only = read_by_checkers(tree)
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "ascend_workbook":
                yield from ((f"ascend_workbook.{alias.name}", node in top) for alias in node.names)
            else:
                yield node.module, node in top


def violations(module: str, source: str) -> list[str]:
    """Name what the module imports that it may not."""
    room, wrong = room_of(module), []
    for target, at_top in imports(ast.parse(source)):
        if target.split(".")[0] in HEAVY and at_top:
            wrong.append(f"{module} imports {target} when it is imported")
        if target.split(".")[0] not in OURS or target == "ascend_workbook.__version__" or room_of(target) == room:
            continue
        if target.startswith("ascend_simulator") and not module.startswith(SEAM):
            wrong.append(f"{module} imports {target} past {SEAM}")
        if RANK[room_of(target)] >= RANK[room]:
            wrong.append(f"{module} imports {target}, which is not below it")
    return wrong


def is_started_by_path(path: Path) -> bool:
    """Return whether the file runs in a child of its own, or is copied into the simulator under another name."""
    relative = path.relative_to(ROOT)
    if relative.parts[:2] in IN_TRAINED_PROCESS or relative.as_posix() in STARTED_BY_PATH:
        return True
    return "child" in relative.parts or path.stem.endswith("child")


def sources() -> Iterator[tuple[str, Path]]:
    """Yield every module of our packages that is imported by its name, and its file."""
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            pieces = path.relative_to(ROOT).with_suffix("").parts
            if not is_started_by_path(path):
                yield ".".join(pieces[:-1] if pieces[-1] == "__init__" else pieces), path


def test_imports_point_down() -> None:
    wrong = [
        what
        for module, path in sources()
        if module not in ("ascend_workbook", "ascend_workbook.__main__")
        for what in violations(module, path.read_text())
    ]
    assert not wrong, "\n".join(wrong)


def test_every_room_has_its_floor() -> None:
    assert {room_of(module) for module, _ in sources()} - {"__main__"} <= RANK.keys()


def test_the_check_can_fail() -> None:
    assert violations("ascend_workbook.migration.scan", "from ascend_workbook.precision import record")
    assert violations("ascend_workbook.findings.finding", "def f():\n    from ascend_workbook.show import card")
    assert violations("ascend_workbook.profiling.trace", "import torch")
    assert violations("ascend_workbook.findings.rules", "from ascend_workbook import batch")
    assert violations(
        "ascend_workbook.findings.report", "def f():\n    from ascend_workbook.show.card import render_fragment"
    )
    assert violations("ascend_workbook.show.card", "from ascend_workbook.storage import write_file")
    assert violations("ascend_workbook.cli.main", "import helpers")
    assert violations("ascend_workbook.batch.workbook", "from course import check_task")
    assert violations("ascend_simulator.libraries.plan", "from ascend_workbook.findings.errors import WorkbookError")
    assert violations("ascend_workbook.machine.device", "import ascend_simulator")
    assert not violations("ascend_workbook.machine.simulator.operators", "from ascend_simulator.coverage import pool")
    assert not violations("ascend_workbook.show.card", "from ascend_workbook.findings.report import Report")
    assert not violations("ascend_workbook.profiling.trace", "def f():\n    import torch")


def import_graph(folder: Path) -> dict[str, set[str]]:
    """Return, for each module of the package in the folder, the modules of it that its code names.

    Every import counts, inside functions too, but for those that only type checkers read. `from package.a import b`
    leads to package.a.b where that is a module, else to package.a. Importing a module does not count as importing the
    packages around it: what their `__init__` needs is their own. A string that is a module's name, alone or before
    `:function`, counts as well, so that no table of names hides an import.
    """
    files = {}
    for path in folder.rglob("*.py"):
        pieces = path.relative_to(folder.parent).with_suffix("").parts
        files[".".join(pieces[:-1] if pieces[-1] == "__init__" else pieces)] = path
    graph = {}
    for name, path in files.items():
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        graph[name] = set(names_of(ast.parse(path.read_text()), package, files)) - {name}
    return graph


def names_of(tree: ast.AST, package: str, known: Collection[str]) -> Iterator[str]:
    """Yield each known module that a file of the package names."""
    typing_only = read_by_checkers(tree)
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import) and node not in typing_only:
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node not in typing_only:
            above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, (above, node.module)))
            within = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in known else base for name in within]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            names = [node.value.partition(":")[0]]
        yield from (name for name in names if name in known)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that lead back to themselves (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for target in graph[name]:
            if target not in number:
                visit(target)
            if target in stack:
                lowest[name] = min(lowest[name], lowest[target])
        if lowest[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[-len(group) :]
            groups.append(sorted(group))

    for name in graph:
        if name not in number:
            visit(name)
    return [group for group in groups if len(group) > 1]


def chain(graph: dict[str, set[str]], name: str) -> list[str]:
    """Return the longest chain of imports that begins at the name; the graph has no circle."""
    return [name, *max((chain(graph, target) for target in graph[name]), key=len, default=[])]


def whole_graph() -> dict[str, set[str]]:
    """Return the graph of all our packages; one package leads to another only by a table of names, which
    is left out.
    """
    return {name: targets for package in PACKAGES for name, targets in import_graph(package).items()}


def test_no_files_import_one_another_in_a_circle() -> None:
    groups = circles(whole_graph())
    assert not groups, "\n".join(" <-> ".join(group) for group in groups)


def test_a_circle_is_seen(tmp_path: Path) -> None:
    texts = {
        "__init__.py": "",
        "a.py": "def f():\n    from pack.inner import b",
        "inner/__init__.py": "",
        "inner/b.py": "from . import c",
        "inner/c.py": "LATER = 'pack.a:f'",
        "d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack import e",
        "e.py": "import pack.d",
    }
    for name, text in texts.items():
        path = tmp_path / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert circles(import_graph(tmp_path / "pack")) == [["pack.a", "pack.inner.b", "pack.inner.c"]]


def test_the_house_has_few_floors() -> None:
    rooms: dict[str, set[str]] = {room: set() for room in RANK}
    for module, path in sources():
        if module not in ("ascend_workbook", "ascend_workbook.__main__"):
            targets = (target for target, _ in imports(ast.parse(path.read_text())) if target.split(".")[0] in OURS)
            rooms[room_of(module)] |= {room_of(target) for target in targets} & RANK.keys() - {room_of(module)}
    assert not circles(rooms)
    longest = max((chain(rooms, room) for room in rooms), key=len)
    assert 5 < len(longest) <= MOST_FLOORS, " -> ".join(longest)


def test_few_files_lie_loose_on_a_ground_floor() -> None:
    for package in PACKAGES[:1]:
        loose = [path.name for path in package.iterdir() if path.suffix == ".py"]
        assert len(loose) <= 6, loose


def test_children_import_nothing_of_ours() -> None:
    files = [
        path
        for package in PACKAGES
        for path in package.rglob("*.py")
        if is_started_by_path(path) and ("child" in path.parts or not path.stem.endswith("child"))
    ]
    files.append(ROOT / "tools" / "bootstrap.py")
    assert len(files) > 75
    for path in files:
        ours = [module for module, _ in imports(ast.parse(path.read_text())) if module.split(".")[0] in OURS]
        assert not ours, f"{path.name} runs beside user code and must not import {ours}"


def test_importing_the_package_is_light() -> None:
    code = f"import sys, helpers; print(sorted(set(sys.modules) & {HEAVY | {'numpy'}!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_analyse_needs_nothing_that_collects_compares_or_exports() -> None:
    """What a verb does not use costs its start a tenth of a second and more."""
    unused = ("collecting", "compare.report", "ranks.everywhere", "export.flame", "export.perfetto")
    machine = ("ascend_workbook.machine.device", "ascend_workbook.machine.launch")
    wanted = [*machine, *(f"ascend_workbook.profiling.{name}" for name in unused)]
    show = f"print(sorted(set(sys.modules) & set({wanted!r})))"
    code = f"import sys; from ascend_workbook.profiling import analyse; {show}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


#: Imports each module named on the command line into an interpreter that has none of ours yet.
ALONE = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    for ours in [loaded for loaded in sys.modules if loaded.split(".")[0] in ("helpers", "ascend_workbook")]:
        del sys.modules[ours]
    try:
        import_module(name)
    except ImportError as error:
        print(name, error)
"""


def test_every_verb_can_be_the_first() -> None:
    """A circle of imports shows only where its first module is asked for first, as a command asks for its own."""
    modules = [module for module, _ in sources() if module.startswith("ascend_workbook.cli.commands.")]
    modules += set(helpers._VERBS.values())
    done = subprocess.run([sys.executable, "-c", ALONE, *modules], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(modules) > 20 and not done.stdout, done.stdout
