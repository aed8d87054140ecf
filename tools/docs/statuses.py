"""Which statuses a rule can give: those named in its function and in what that calls, comparisons left out."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from ascend_workbook.findings.finding import Status
from ascend_workbook.migration.repair import CLASSES, STATUS

ROOT = Path(__file__).resolve().parents[2]
#: How far calls are followed.
DEPTH = 3
#: Turns a class into a status: what is asked of it stands in the rule.
TABLES = ("ascend_workbook.migration.repair",)
Function = ast.FunctionDef


def statuses_of(module: ModuleType, function: str) -> list[Status]:
    """Return the statuses that a rule's function can give, from good to bad."""
    return sorted(set(_reach_statuses(module.__name__, function, frozenset(), DEPTH)))


def _reach_statuses(name: str, function: str, visited: frozenset[tuple[str, str]], depth: int) -> Iterator[Status]:
    if (name, function) in visited or name in TABLES:
        return
    visited |= {(name, function)}
    functions, constants, imported = _parse_module(name)
    if function not in functions and function in imported:  # handed on by a package
        yield from _reach_statuses(*imported[function], visited, depth)
    if function not in functions:
        return
    body = functions[function]
    for node in _walk_results(body):
        if isinstance(node, ast.Name) and node.id in constants:
            yield from (status for part in ast.walk(constants[node.id]) for status in _status_named(part))
        yield from _status_named(node)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "class":
            yield from _in_data(name)
        called = _function_called(node, imported)
        if called is not None and depth:
            where, what = called if called[0] else (name, called[1])
            yield from _reach_statuses(where, what, visited, depth - 1)


def _status_named(node: ast.AST) -> Iterator[Status]:
    """Yield the statuses that a node names: Status.WARN; CannotCheck; a class of migration's such as MANUAL."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Status":
        yield Status[node.attr]
    if isinstance(node, ast.Name) and node.id == "CannotCheck":
        yield Status.SKIPPED
    if isinstance(node, ast.Name) and node.id.lower() in CLASSES:
        yield STATUS[node.id.lower()]


def _in_data(name: str) -> Iterator[Status]:
    """What the tables of names give that a rule of migration's asks: `entry["class"]`."""
    text = (ROOT / name.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
    for table in set(re.findall(r'api_map\.find_entry\("(\w+)"', text)):
        names = json.loads((ROOT / "ascend_workbook/migration/data" / f"{table}.json").read_text(encoding="utf-8"))[
            "names"
        ]
        yield from (STATUS[entry["class"]] for entry in names.values())


def _walk_results(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all below a function but what is only compared with, and what is caught."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Compare):
            continue
        if isinstance(child, ast.ExceptHandler):
            for line in child.body:
                yield line
                yield from _walk_results(line)
            continue
        yield child
        yield from _walk_results(child)


def _function_called(node: ast.AST, imported: dict[str, tuple[str, str]]) -> tuple[str, str] | None:
    """Return (module, function) of a name that is a function, called or handed on; an empty module is the same file."""
    if isinstance(node, ast.Name):
        return imported.get(node.id, ("", node.id))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
        package, name = imported[node.value.id]
        return f"{package}.{name}", node.attr
    return None


@cache
def _parse_module(name: str) -> tuple[dict[str, Function], dict[str, ast.expr], dict[str, tuple[str, str]]]:
    """Return a module's functions, its constants, and what it imports of ours by the name it has here."""
    place = ROOT / name.replace(".", "/")
    file = next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
    if file is None:  # a class: its methods give no findings
        return {}, {}, {}
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    imported = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ascend_workbook")
        for alias in node.names
    }
    return functions, constants, imported
