"""Which files need transfer_to_npu: made to be run, and torch is used by them or by what they import."""

from __future__ import annotations

import ast
import re
from itertools import islice
from pathlib import Path

from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.reading.imports import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Source, read_source
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.rewrite.entry import is_harmless

#: What stands on lines of imports, also between brackets over several lines.
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\r\n]*))|import[ \t]+([^\r\n]*))", re.MULTILINE
)
WORD = re.compile(rb"\w+")
#: A script that uses torch reaches it sooner, as a rule.
MOST_MODULES = 50


def needs_import(
    source: Source, *, script: bool, uses: bool = False, root: Path | None = None, torch_around: bool = False
) -> bool:
    """A script that uses torch and does not yet import transfer_to_npu.

    `uses`: it has places that only run under transfer_to_npu, whoever imports torch for it. Modules that it imports
    are looked for beside it and in `root`; `torch_around`: what to take for those beyond MOST_MODULES.
    """
    modules = list_imported_names(source.tree)
    if not script or TRANSFER in modules:
        return False
    if "torch" in _top_names(modules) or (uses and not all(map(is_harmless, modules))):
        return True
    file = source.file or (root / source.path if root else None)
    return file is not None and _brings_torch(file, source.tree, root, torch_around)


def is_entry(source: Source, *, unnamed: bool = False) -> bool:
    """A file made to be run: a __main__ guard, or loops at its top level, or calls in one that no other file names."""
    for statement in source.tree.body:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare):
            left = statement.test.left
            if isinstance(left, ast.Name) and left.id == "__name__":
                return True
        if isinstance(statement, (ast.For, ast.While, ast.With)):
            return True
    if not unnamed or _is_of_a_package(source):
        return False
    return any(_is_work(source, statement) for statement in source.tree.body)


def list_imported_words(data: bytes) -> set[str]:
    """All words on the lines that import: the last names of modules are among them."""
    return {
        word.decode("ascii", "replace")
        for match in IMPORT.finditer(data)
        for part in match.groups()
        if part
        for word in WORD.findall(part)
    }


def _is_of_a_package(source: Source) -> bool:
    return any(node.level for node in ast.walk(source.tree) if isinstance(node, ast.ImportFrom))


def _is_work(source: Source, statement: ast.stmt) -> bool:
    """A call for its effect, unless it only sets up the standard library or a bystander: logging, sys.path, setup."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    called = source.names.resolve_call(statement.value)
    return not (called and is_harmless(called))


def _brings_torch(file: Path, tree: ast.Module, root: Path | None, beyond: bool) -> bool:
    """A module that the script imports uses torch, and does not see to transfer_to_npu."""
    roots = [root] if root and root != file.parent else []
    for number, module in enumerate(islice(walk_imports(file, *roots, tree=tree), MOST_MODULES + 1)):
        if number == MOST_MODULES:
            return beyond
        try:
            modules = list_imported_names(read_source(module).tree) if b"torch" in module.read_bytes() else set()
        except (Unreadable, OSError):
            continue
        if TRANSFER in modules or "torch" in _top_names(modules):
            return TRANSFER not in modules
    return False


def _top_names(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}
