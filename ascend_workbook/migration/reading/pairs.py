"""Operators by hand: an autograd function whose two ways call one imported module, `k.pool_forward`, `k.pool_backward`.

Such a module holds compiled kernels, whatever it is called: what plain PyTorch can do needs no backward of its own.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.source import Source

FUNCTIONS = {
    "torch.autograd.Function",
    "torch.autograd.function.Function",
    "torch.autograd.function.InplaceFunction",
}
WAYS = re.compile(r"(?:^|_)(?:(?P<forward>forward|fwd)|(?P<backward>backward|bwd))(?:_|$)", re.IGNORECASE)


def find_paired_modules(source: Source) -> set[str]:
    """List what this file calls the imported modules whose forward and backward its autograd functions call."""
    ways: dict[str, set[str]] = {}
    for node in source.nodes_of_type(ast.ClassDef):
        if any(source.names.resolve_name(base) in FUNCTIONS for base in node.bases):
            for inner in ast.walk(node):
                name, way = _module_and_way(source, inner)
                ways.setdefault(name, set()).add(way)
    return {name for name, way_names in ways.items() if name and {"forward", "backward"} <= way_names}


def _module_and_way(source: Source, node: ast.AST) -> tuple[str, str]:
    """The module and the way of `module.pool_forward(...)`; empty where it is anything else."""
    func = node.func if isinstance(node, ast.Call) else None
    way = WAYS.search(func.attr) if isinstance(func, ast.Attribute) else None
    base = func.value if isinstance(func, ast.Attribute) else None
    if way is None or not isinstance(base, ast.Name) or not _is_imported(source, base):
        return "", ""
    return base.id, str(way.lastgroup)


def _is_imported(source: Source, base: ast.Name) -> bool:
    values = [value for value in source.names.bound_values(base) if isinstance(value, str)]
    return bool(values) and not any(value.split(".")[0] in ("torch", "numpy") for value in values)
