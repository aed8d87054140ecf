"""Words that stand in the code without being a value: Literal["cuda", "cpu"], and the names of an option."""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.source import Source

#: What of an option is a value; the rest names it or is shown.
VALUES = {"default", "const", "choices"}


def only_names(source: Source, node: ast.AST) -> bool:
    """A word of a Literal type, or `dest`, `help` and the like of add_argument."""
    child = node
    for above in source.names.nodes_above(node):
        if isinstance(above, ast.Subscript):
            return getattr(above.value, "attr", getattr(above.value, "id", "")) == "Literal"
        if isinstance(above, ast.Call):
            called = getattr(above.func, "attr", getattr(above.func, "id", ""))
            named = child.arg if isinstance(child, ast.keyword) else None
            return called == "add_argument" and named not in VALUES
        if isinstance(above, ast.stmt):
            return False
        child = above
    return False
