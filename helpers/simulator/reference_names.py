"""The names of all references, read from the sources without importing them: the build needs no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def names(folder: Path) -> list[str]:
    """The first argument of each `@reference("npu::...")` or `("aten::...")` in the folder's modules, sorted."""
    return sorted({name for path in folder.glob("*.py") for name in _names_in(path.read_text(encoding="utf-8"))})


def checked(folder: Path) -> set[str]:
    """The operators of torch_npu whose reference checks data types: `@reference("npu::...", dtypes=...)`.

    Those of aten have their lists, and CANN's documents, in native/kernels/dtypes.txt.
    """
    sources = (path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    found = {name for source in sources for name in _names_in(source, "dtypes")}
    return {name for name in found if name.startswith("npu::")}


def _names_in(source: str, keyword: str = "") -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "reference":
                name = decorator.args[0]
                assert isinstance(name, ast.Constant) and isinstance(name.value, str), f"{node.name}: not a literal"
                if not keyword or any(given.arg == keyword for given in decorator.keywords):
                    yield name.value
