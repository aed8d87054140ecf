"""The names of all references, read from the sources without importing them: the build needs no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def names_of_references(folder: Path) -> list[str]:
    """Return the first argument of each `@reference("npu::...")` or `("aten::...")` in the folder's modules, sorted."""
    return sorted({name for path in folder.glob("*.py") for name in _names_in(path.read_text(encoding="utf-8"))})


def names_with_dtypes(folder: Path) -> set[str]:
    """Return the operators of torch_npu whose reference checks data types: `@reference("npu::...", dtypes=...)`.

    Those of aten have their lists, and CANN's documents, in native/kernels/dtypes.txt.
    """
    sources = (path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    operators = {name for source in sources for name in _names_in(source, "dtypes")}
    return {name for name in operators if name.startswith("npu::")}


def _names_in(source: str, keyword: str = "") -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "reference":
                name = decorator.args[0]
                assert isinstance(name, ast.Constant) and isinstance(name.value, str), f"{node.name}: not a literal"
                if not keyword or any(argument.arg == keyword for argument in decorator.keywords):
                    yield name.value
