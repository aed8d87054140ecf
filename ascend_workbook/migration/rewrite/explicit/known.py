"""What torch_npu has, and what the parts share."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.branches import later_tests
from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MANUAL, MEASURED, REWRITE, Known, finding_at

KNOWN = Known(MEASURED, "https://github.com/Ascend/pytorch/tree/9e73e708ab9350d203475609f36f8a43f6a0c2ab/docs/zh/api")
#: Where edits of the scan's own rules stand, in order and apart: an edit of a part must not touch them.
Spans = list[tuple[int, int]]


@cache
def load_table(part: str) -> dict[str, str]:
    """Load of torch_npu, as installed, the full `names`, those of `modules`, or `other` spellings of torch.cuda."""
    table = api_map.load_map("torch_npu")[part]
    return dict(table) if part == "other" else dict.fromkeys(table, "")


def name_exists(name: str) -> bool:
    """Return whether it is a name of the table, or an attribute of one that is no module: of a class, a generator."""
    if name in load_table("names"):
        return True
    parts = name.split(".")
    for length in range(3, len(parts) + 1):
        front = ".".join(parts[:length])
        if front in load_table("modules"):
            continue
        return front in load_table("names")
    return True


def edited_finding(source: Source, node: ast.AST, outcome: str, edits: tuple[Edit, ...], old: str, new: str) -> Finding:
    """An edit with what it says; without edits the place is a person's."""
    return finding_at(source, node, f"MIG138.{outcome}", REWRITE, edits, name=old, new=new)


def no_form(source: Source, node: ast.AST, name: str) -> Finding:
    return finding_at(source, node, "MIG138.no_form", MANUAL, name=name)


def stands_beside(source: Source, node: ast.AST, word: str) -> bool:
    """The code already knows the other name: in the same list, in the same `or`, in a branch of the same `if`."""
    child = node
    for around in source.names.nodes_above(node):
        if isinstance(around, (ast.Tuple, ast.List, ast.Set)) and _has_word(around.elts, word):
            return True
        if isinstance(around, ast.Dict) and child in around.keys and _has_word(around.keys, word):
            return True
        others = [value for value in getattr(around, "values", ()) if value is not child]
        if isinstance(around, ast.BoolOp) and any(_has_word(ast.walk(value), word) for value in others):
            return True
        if isinstance(around, ast.If) and around.test is child:
            tests = [test for test in _tests_of_chain(source, around) if test is not child]
            return any(_has_word(ast.walk(test), word) for test in tests)
        if isinstance(around, ast.IfExp) and around.test is child and isinstance(around.orelse, ast.IfExp):
            return _has_word(ast.walk(around.orelse.test), word)
        if isinstance(around, ast.stmt):
            return False
        child = around
    return False


def _tests_of_chain(source: Source, node: ast.If) -> list[ast.expr]:
    """The tests of an `if` with all its `elif`."""
    first = node
    above = source.names.parent_of(first)
    while isinstance(above, ast.If) and above.orelse == [first]:
        first, above = above, source.names.parent_of(above)
    return [first.test, *later_tests(first)]


def _has_word(nodes: Iterable[ast.AST | None], word: str) -> bool:
    return any((string_value(node) or "").split(":")[0] == word for node in nodes)


def touches_spans(edits: tuple[Edit, ...], spans: Spans) -> bool:
    """Whether an edit meets one of the spans: the last that begins before its end ends last too."""
    before = ((edit, bisect_right(spans, (edit.end, sys.maxsize))) for edit in edits)
    return any(at and spans[at - 1][1] >= edit.start for edit, at in before)
