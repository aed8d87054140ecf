"""Cells import from `helpers` and `course` alone, what they import is handed on, and handing on costs little."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest

from ascend_workbook.findings.sentence import load_catalogue
from tests.conftest import ROOT

NOTEBOOKS = [path for top in ("notebooks", "tests/reference") for path in sorted((ROOT / top).rglob("*.ipynb"))]
OURS = ("helpers", "ascend_workbook", "ascend_simulator", "course", "tools", "tests")
FOR_CELLS = ("helpers", "course")
MOST_LINES = 700


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of what a notebook's cells import of ours; the name is empty for `import module`."""
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(re.sub(r"^%.*$", "", cell.source, flags=re.MULTILINE))):
            if isinstance(node, ast.ImportFrom):
                found = [(node.module or "", alias.name) for alias in node.names]
            else:
                found = [(alias.name, "") for alias in node.names] if isinstance(node, ast.Import) else []
            yield from (pair for pair in found if pair[0].split(".")[0] in OURS)


def is_handed_on(module: str, name: str) -> bool:
    """Whether cells may import this name: a module for cells has it, or it is such a module itself."""
    if module.split(".")[0] not in FOR_CELLS:
        return False
    if not name:
        return find_spec(module) is not None
    if is_module(module, name):
        return True
    loaded = import_module(module)
    return hasattr(loaded, name) and (module.split(".")[0] != "helpers" or name in declared_names(module))


def is_module(module: str, name: str) -> bool:
    """Whether `from module import name` imports a module of the package `module`."""
    spec = find_spec(module)
    return bool(spec and spec.submodule_search_locations) and find_spec(f"{module}.{name}") is not None


def declared_names(module: str) -> list[str]:
    """`__all__` of a module of helpers, or what it defines itself."""
    loaded = import_module(module)
    own = [name for name, value in vars(loaded).items() if getattr(value, "__module__", "") == module]
    return list(getattr(loaded, "__all__", own))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix())
def test_what_cells_import_is_handed_on(path: Path) -> None:
    wanted = set(imports_of(path))
    assert ("helpers.notebook", "begin") in wanted
    assert sorted(pair for pair in wanted if not is_handed_on(*pair)) == []


def uses_of(path: Path) -> Iterator[tuple[str, str]]:
    """(module, attribute) of what the cells take from modules of ours that they import, as in `devices.find`."""
    modules = {name: f"{module}.{name}" for module, name in imports_of(path) if name and is_module(module, name)}
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "code":
            for node in ast.walk(ast.parse(re.sub(r"^%.*$", "", cell.source, flags=re.MULTILINE))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                    yield modules[node.value.id], node.attr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix())
def test_what_cells_say_has_words(path: Path) -> None:
    code = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")
    assert [key for key in re.findall(r'\bsay\("([\w.]+)"', code) if key not in load_catalogue()] == []
    assert [pair for pair in uses_of(path) if not hasattr(import_module(pair[0]), pair[1])] == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("ascend_workbook.migration.scan", "scan"),
        ("helpers", "no_such_verb"),
        ("helpers.boxes", "no_such_box"),
        ("helpers.notebook", "say"),  # which only came along
        ("helpers.no_such_module", ""),
    ],
)
def test_another_name_is_seen(module: str, name: str) -> None:
    assert not is_handed_on(module, name)


@pytest.mark.parametrize("path", sorted((ROOT / "helpers").glob("*.py")), ids=lambda path: path.stem)
def test_every_name_that_is_declared_is_there(path: Path) -> None:
    module = import_module("helpers" if path.stem == "__init__" else f"helpers.{path.stem}")
    names = declared_names(module.__name__)
    assert names and [name for name in names if not hasattr(module, name)] == []


def test_importing_helpers_loads_nothing_else() -> None:
    code = f"import sys, helpers; print(sorted(name for name in sys.modules if name.split('.')[0] in {OURS!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    registry = ["ascend_workbook.findings", "ascend_workbook.findings.registry"]  # what the engine notes, by name alone
    assert ast.literal_eval(done.stdout) == ["ascend_workbook", *registry, "helpers"]


def test_helpers_hold_little() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "helpers").rglob("*.py"))
    assert 0 < lines < MOST_LINES
