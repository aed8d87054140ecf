"""The modules that a script imports from its own folder, directly or not."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ascend_workbook.migration.reading.source import read_source
from ascend_workbook.migration.reading.undecoded import Unreadable

#: Folders of a repository that hold its packages.
HOMES = ("", "src", "lib", "python")


def walk_imports(script: Path, *more: Path, tree: ast.Module | None = None) -> Iterator[Path]:
    """Yield the script (`tree`: its own) and the modules that it imports, looked for in the folders `more` too."""
    discovered, todo = [script], [script]
    yield script
    while todo:
        file = todo.pop()
        parsed = tree if tree and file == script else _parse_file(file)
        for module in _local_imports(file, parsed, (script.parent, *more)):
            if module not in discovered:
                discovered.append(module)
                todo.append(module)
                yield module


def map_imports(scripts: Iterable[Path], roots: tuple[Path, ...]) -> dict[Path, list[Path]]:
    """Map scripts and every module that they import from the folders `roots`, directly or not, to what each imports."""
    edges: dict[Path, list[Path]] = {}
    todo = list(scripts)
    while todo:
        file = todo.pop()
        if file not in edges:
            edges[file] = list_file_imports(file, roots)
            todo += edges[file]
    return edges


def list_file_imports(file: Path, roots: tuple[Path, ...]) -> list[Path]:
    """List the modules that a file imports from the folders `roots`, each once; none where it cannot be read."""
    return list_imports(file, _parse_file(file), roots)


def list_imports(file: Path, tree: ast.Module, roots: tuple[Path, ...]) -> list[Path]:
    """List the modules that a tree, which stands in `file`, imports from the folders `roots`, each once."""
    return list(dict.fromkeys(_local_imports(file, tree, roots)))


def _parse_file(file: Path) -> ast.Module:
    try:
        return read_source(file).tree
    except (Unreadable, OSError):
        return ast.Module([], [])  # whoever reads it for its findings says so


def _local_imports(file: Path, tree: ast.Module, roots: tuple[Path, ...]) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                for root in roots:
                    yield from _module_files(root, name.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            parts = node.module.split(".") if node.module else []
            bases = (file.parents[min(node.level, len(file.parents)) - 1],) if node.level else roots
            for name in node.names:
                for base in bases:
                    yield from _module_files(base, [*parts, name.name])


def _module_files(base: Path, parts: list[str]) -> Iterator[Path]:
    """The packages on the way to a dotted name, and the module itself, as far as they are files."""
    place = base
    for part in parts:
        if is_file(place / f"{part}.py"):
            yield place / f"{part}.py"
            return
        place = place / part
        if is_file(place / "__init__.py"):
            yield place / "__init__.py"
        elif not is_folder(place):
            return


def is_file(path: Path) -> bool:
    """Return whether a path leads to a file; one that cannot be followed (too long, closed, in a circle) does not."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Return whether a path leads to a folder; one that cannot be followed does not."""
    return os.path.isdir(path)  # noqa: PTH112
