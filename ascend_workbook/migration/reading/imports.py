"""The modules that a text imports, by their full names."""

from __future__ import annotations

import ast

TRANSFER = "torch_npu.contrib.transfer_to_npu"


def list_imported_names(tree: ast.AST) -> set[str]:
    """List the full names of what is imported anywhere below; relative imports as `.name`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names |= {f"{base}.{name.name}" for name in node.names} | {base}
    return names
