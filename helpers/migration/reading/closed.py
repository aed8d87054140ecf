"""What runs for CUDA alone, because an NPU has its own place beside it.

`if d == "cuda": … elif d == "npu": …`, and the entry `"cuda"` of a dict with one for npu: a script that says npu
never comes there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from helpers.finding import Place
from helpers.migration.reading.calls import string
from helpers.migration.reading.source import Source

#: Begin and end in the text.
Span = tuple[int, int]


def closed(source: Source) -> list[Span]:
    """The spans in which CUDA is meant and nothing else."""
    return [*_branches(source), *_entries(source)]


def offset(source: Source, place: Place) -> int:
    """Where a place stands in the text."""
    return source.line_starts[place.line - 1] + place.column - 1


def within(at: int, spans: list[Span]) -> bool:
    return any(start <= at < end for start, end in spans)


def _branches(source: Source) -> Iterator[Span]:
    for branch in source.nodes(ast.If):
        if _asks(branch.test) == "cuda" and "npu" in map(_asks, later_tests(branch)):
            yield source.span(branch.test)
            yield source.span(branch.body[0])[0], source.span(branch.body[-1])[1]


def _entries(source: Source) -> Iterator[Span]:
    for table in source.nodes(ast.Dict):
        words = [string(key) for key in table.keys]
        if "cuda" in words and "npu" in words:
            yield source.span(table.values[words.index("cuda")])


def later_tests(branch: ast.If) -> Iterator[ast.expr]:
    """The tests of the `elif` that follow."""
    while len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If):
        branch = branch.orelse[0]
        yield branch.test


def _asks(test: ast.expr) -> str:
    """The one device that a test asks for with no `not`: `d == "cuda"`, `"npu" in d`, `d.startswith("cuda:")`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next(filter(None, map(_asks, test.values)), "")
    asked: list[ast.expr] = []
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.In)):
        asked = [test.left, *test.comparators]
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        asked = test.args[:1]
    words = {(string(node) or "").rstrip(":") for node in asked} & {"cuda", "npu"}
    return words.pop() if len(words) == 1 else ""
