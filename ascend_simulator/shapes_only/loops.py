"""Tell whether a line decides how long a loop goes on: `while error > limit`, `if error < limit: break`."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import cache

from .places import Place


@cache
def loop_of(place: Place) -> int:
    """Return the line of the innermost `while` whose end is decided on this line; 0 where there is none."""
    source = "".join(linecache.getlines(place.file))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return 0
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While) and _decides(node, place.line)]
    return max((loop.lineno for loop in loops), default=0)


def _decides(loop: ast.While, line: int) -> bool:
    if _covers(loop.test, line):
        return True
    return any(_covers(choice.test, line) for choice in _own_statements(loop) if _ends_loop(choice))


def _covers(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _own_statements(loop: ast.While) -> Iterator[ast.If]:
    """Yield the `if` statements whose `break` would end this loop."""
    waiting: list[ast.stmt] = list(loop.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If):
            yield node
        if not isinstance(
            node, (ast.While, ast.For, ast.AsyncFor, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def _ends_loop(choice: ast.If) -> bool:
    return any(
        isinstance(node, (ast.Break, ast.Return)) for part in choice.body + choice.orelse for node in ast.walk(part)
    )
