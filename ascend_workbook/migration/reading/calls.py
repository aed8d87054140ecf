"""Small questions about calls and constants that several rules ask."""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.source import Source


def find_argument(call: ast.Call, position: int, keyword: str = "") -> ast.expr | None:
    """Return the argument at a position or by keyword; None where it is not given or hidden behind a star."""
    if keyword:
        for pair in call.keywords:
            if pair.arg == keyword:
                return pair.value
    if len(call.args) <= position or any(isinstance(value, ast.Starred) for value in call.args[: position + 1]):
        return None
    return call.args[position]


def method_name(call: ast.Call) -> str:
    """Return `to` of `x.to(...)`, or an empty string."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def string_value(node: ast.AST | None) -> str | None:
    """Return the value of a string constant."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def within_string(source: Source, node: ast.Constant, old: str, new: str) -> tuple[Edit, ...]:
    """Edits that replace the first `old` inside a string literal and leave its quotes and prefix alone."""
    start, end = source.span_of(node)
    text = source.text[start:end]
    body = text.lstrip("rRuUbBfF")
    at = text.find(old)
    if body[:1] not in ("'", '"') or at < 0:
        return ()
    return (Edit(start + at, start + at + len(old), new),)


def is_docstring(source: Source, node: ast.AST) -> bool:
    """A string that stands alone as a statement."""
    return isinstance(source.names.parent_of(node), ast.Expr)


def append_argument(source: Source, call: ast.Call, text: str) -> tuple[Edit, ...]:
    """One more argument behind the last; none where that stands in brackets of its own: `f((m))`."""
    last = max(
        (source.span_of(value)[1] for value in (*call.args, *(pair.value for pair in call.keywords))), default=None
    )
    _, end = source.span_of(call)
    if last is None:
        return (Edit(end - 1, end - 1, text),)
    return () if ")" in source.text[last : end - 1] else (Edit(last, last, f", {text}"),)
