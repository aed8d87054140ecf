"""Imports point down; `import helpers` is light; torch_npu is imported by nothing at import time."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import helpers
from tests.conftest import ROOT

PACKAGE = ROOT / "helpers"
#: From the bottom up; a module may import its own part and parts strictly below it.
LAYERS = (
    ("words", "hosting"),
    ("errors",),
    ("finding",),
    ("report", "rules", "gates"),
    ("storage", "bounded", "number_lists", "own_results", "redaction", "scheduler", "native"),
    ("diagnosis",),  # reads texts only; launch, the stages and batch show what it says of an error
    ("cann", "kernelspec", "npu_smi", "packages"),
    ("versions",),  # the vendor's lists: what the environment is judged by and a migration is advised
    ("simulator",),
    ("device",),
    ("launch",),
    ("settings",),  # what both the environment and the precision stage hold against each other
    ("environment", "migration", "precision", "profiling"),
    ("view",),
    ("batch", "notebook", "selftest", "modelarts"),
    ("course",),  # lessons and exercises: made of all that is below
    ("commands", "suggestions", "usage"),
    ("__init__",),
    ("__main__",),
)
#: A report draws itself and saves itself, lazily (inside a function): the two imports that may point up.
LAZY_UP = {("report", "view"), ("report", "storage"), ("errors", "words")}
#: Files started by path in a child of their own: they import nothing of ours at all.
STARTED_BY_PATH = ("bootstrap", "device_probe")
HEAVY = {"torch", "torch_npu", "msprobe", "transformers", "papermill", "matplotlib", "pandas"}
RANK = {part: level for level, parts in enumerate(LAYERS) for part in parts}


def part_of(module: str) -> str:
    """`helpers.view.html` -> `view`."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 else "__init__"


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """(module, at the top level?) of every import in the file."""
    top = set(ast.iter_child_nodes(tree))
    typing_only = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "helpers":
                yield from ((f"helpers.{alias.name}", node in top) for alias in node.names)
            else:
                yield node.module, node in top


def violations(part: str, source: str) -> list[str]:
    """What the file imports that it may not."""
    found = []
    for module, at_top in imports(ast.parse(source)):
        if module.split(".")[0] in HEAVY and at_top:
            found.append(f"{part} imports {module} when it is imported")
        if not module.startswith("helpers") or part_of(module) == part:
            continue
        target = part_of(module)
        points_up = target in STARTED_BY_PATH or RANK[target] >= RANK[part]
        if points_up and (at_top or (part, target) not in LAZY_UP):
            found.append(f"{part} imports {module}")
    return found


def sources() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        part = relative.parts[0].removesuffix(".py")
        started_by_path = part in STARTED_BY_PATH or "child" in relative.parts or path.stem.endswith("child")
        if not started_by_path and not is_reference(relative):
            yield part, path


def is_reference(relative: Path) -> bool:
    """Formulas of torch_npu's operators: copied into the simulator under another name; torch is all they know."""
    return relative.parts[:2] == ("simulator", "references")


def test_imports_point_down() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {what}" for part, path in sources() for what in violations(part, path.read_text())
    ]
    assert not found, "\n".join(found)


def test_every_part_has_its_layer() -> None:
    assert {part for part, _ in sources()} <= RANK.keys()


def test_the_check_can_fail() -> None:
    assert violations("migration", "from helpers.precision import record")
    assert violations("finding", "def f():\n    from helpers.view import html")
    assert violations("profiling", "import torch")
    assert violations("rules", "from helpers import batch")
    assert not violations("report", "def f():\n    from helpers.view.html import render")
    assert not violations("profiling", "def f():\n    import torch")


def test_children_import_nothing_of_ours() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if "child" in path.relative_to(PACKAGE).parts]
    files += [PACKAGE / f"{name}.py" for name in STARTED_BY_PATH]
    files += [path for path in PACKAGE.rglob("*.py") if is_reference(path.relative_to(PACKAGE))]
    assert len(files) > 2
    for path in files:
        ours = [module for module, _ in imports(ast.parse(path.read_text())) if module.split(".")[0] == "helpers"]
        assert not ours, f"{path.name} runs beside user code and must not import {ours}"


def test_importing_the_package_is_light() -> None:
    code = f"import sys, helpers; print(sorted(set(sys.modules) & {HEAVY | {'numpy'}!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_analyse_needs_nothing_that_collects_compares_or_exports() -> None:
    """What a verb does not use costs its start a tenth of a second and more."""
    unused = ("collecting", "compare.report", "ranks.everywhere", "export.flame", "export.perfetto")
    wanted = ["helpers.device", "helpers.launch", *(f"helpers.profiling.{name}" for name in unused)]
    code = f"import sys; from helpers.profiling import analyse; print(sorted(set(sys.modules) & set({wanted!r})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


#: Imports each module named on the command line into an interpreter that has none of ours yet.
ALONE = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    for ours in [loaded for loaded in sys.modules if loaded.split(".")[0] == "helpers"]:
        del sys.modules[ours]
    try:
        import_module(name)
    except ImportError as error:
        print(name, error)
"""


def test_every_verb_can_be_the_first() -> None:
    """A circle of imports shows only where its first module is asked for first, as a command asks for its own."""
    modules = [f"helpers.commands.{path.stem}" for part, path in sources() if part == "commands"]
    modules += set(helpers._VERBS.values())
    done = subprocess.run([sys.executable, "-c", ALONE, *modules], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(modules) > 20 and not done.stdout, done.stdout
