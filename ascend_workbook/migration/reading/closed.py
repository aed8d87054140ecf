"""What runs for CUDA alone, because an NPU has its own place beside it.

`if d == "cuda": … elif d == "npu": …`, and the entry `"cuda"` of a dict with one for npu: a script that says npu
never comes there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Place
from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.source import Source

#: Begin and end in the text.
Span = tuple[int, int]


def find_closed_spans(source: Source) -> list[Span]:
    """Find the spans in which CUDA is meant and nothing else."""
    return [*_find_branch_spans(source), *_find_entry_spans(source)]


def offset_of_place(source: Source, place: Place) -> int:
    """Where a place stands in the text."""
    return source.line_starts[place.line - 1] + place.column - 1


def is_within_spans(at: int, spans: list[Span]) -> bool:
    return any(start <= at < end for start, end in spans)


def _find_branch_spans(source: Source) -> Iterator[Span]:
    for branch in source.nodes_of_type(ast.If):
        if _asked_device(branch.test) == "cuda" and "npu" in map(_asked_device, later_tests(branch)):
            yield source.span_of(branch.test)
            yield source.span_of(branch.body[0])[0], source.span_of(branch.body[-1])[1]


def _find_entry_spans(source: Source) -> Iterator[Span]:
    for table in source.nodes_of_type(ast.Dict):
        words = [string_value(key) for key in table.keys]
        if "cuda" in words and "npu" in words:
            yield source.span_of(table.values[words.index("cuda")])


def later_tests(branch: ast.If) -> Iterator[ast.expr]:
    """The tests of the `elif` that follow."""
    while len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If):
        branch = branch.orelse[0]
        yield branch.test


def _asked_device(test: ast.expr) -> str:
    """The one device that a test asks for with no `not`: `d == "cuda"`, `"npu" in d`, `d.startswith("cuda:")`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next(filter(None, map(_asked_device, test.values)), "")
    asked_nodes: list[ast.expr] = []
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.In)):
        asked_nodes = [test.left, *test.comparators]
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        asked_nodes = test.args[:1]
    words = {(string_value(node) or "").rstrip(":") for node in asked_nodes} & {"cuda", "npu"}
    return words.pop() if len(words) == 1 else ""
