"""The names of all references, read from the sources without importing them: the build needs no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def names(folder: Path) -> list[str]:
    """The first argument of each `@reference("npu::...")` or `("aten::...")` in the folder's modules, sorted."""
    return sorted({name for path in folder.glob("*.py") for name in _names_in(path.read_text(encoding="utf-8"))})


def _names_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "reference":
                name = decorator.args[0]
                assert isinstance(name, ast.Constant) and isinstance(name.value, str), f"{node.name}: not a literal"
                yield name.value
