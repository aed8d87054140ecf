"""What has to be done about a place, and the finding that says so.

`auto` is OK, `advice` a NOTE; `rewrite` (its edit is at hand), `manual` and `unsupported` are WARN. No place is red by
itself: which class fails a repository is the user's to say (verdict.py). An unsupported place that no `if` or `try`
stands over is reached whenever its file is: its argument `stops` says so.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ascend_workbook.findings.finding import Edit, Finding, Place, Status
from ascend_workbook.migration.reading.source import Source

AUTO, REWRITE, MANUAL, UNSUPPORTED, ADVICE = CLASSES = ("auto", "rewrite", "manual", "unsupported", "advice")
STATUS = {AUTO: Status.OK, ADVICE: Status.NOTE, REWRITE: Status.WARN, MANUAL: Status.WARN, UNSUPPORTED: Status.WARN}
#: Classes from what weighs most.
GRAVEST = (UNSUPPORTED, MANUAL, REWRITE, ADVICE, AUTO)
CODE_WIDTH = 100


def finding_at(
    source: Source, node: ast.AST, key: str, repair: str, edits: tuple[Edit, ...] = (), **args: Any
) -> Finding:
    """Make a finding at a node. `key` is `<RULE>.<outcome>`; a rewrite without edits becomes manual."""
    if repair == REWRITE and not edits:
        repair = MANUAL
    if repair == UNSUPPORTED and not is_conditional(source, node):
        args["stops"] = True
    place = source.place_of(node)
    code = shorten_line(source.read_line(place.line))
    return Finding(key.split(".")[0], STATUS[repair], key, {"class": repair, "code": code, **args}, place, edits=edits)


def found_method(source: Source, call: ast.Call, key: str, repair: str, edits: tuple[Edit, ...] = ()) -> Finding:
    """A finding at a method's name: `.cuda` of a call that goes over several lines is not where the call begins."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.end_lineno == call.func.lineno:
        return finding_at(source, call.func, key, repair, edits)
    _, end = source.span_of(call.func)
    return found_at(source, end - len(call.func.attr), key, repair, edits)


def found_at(source: Source, offset: int, key: str, repair: str, edits: tuple[Edit, ...] = (), **args: Any) -> Finding:
    """A finding at an offset of a text that has no tree: a launch script, a list of requirements."""
    if repair == REWRITE and not edits:
        repair = MANUAL
    line = bisect_right(source.line_starts, offset)
    code = shorten_line(source.read_line(line))
    place = Place(source.path, line, offset - source.line_starts[line - 1] + 1)
    return Finding(key.split(".")[0], STATUS[repair], key, {"class": repair, "code": code, **args}, place, edits=edits)


def shorten_line(line: str) -> str:
    """Shorten a line of code as a finding shows it."""
    code = line.strip()
    return code if len(code) <= CODE_WIDTH else code[: CODE_WIDTH - 1] + "…"


def is_conditional(source: Source, node: ast.AST) -> bool:
    """Under an `if`, in a `try` or its `except`, or in one arm of a conditional expression."""
    child = node
    for around in source.names.nodes_above(node):
        if _is_in_branch(around, child):
            return True
        child = around
    return False


def _is_in_branch(around: ast.AST, child: ast.AST) -> bool:
    if isinstance(around, ast.If):
        left = around.test.left if isinstance(around.test, ast.Compare) else None
        return child is not around.test and getattr(left, "id", "") != "__name__"
    if isinstance(around, ast.IfExp):
        return child is not around.test
    if isinstance(around, ast.Try):
        return bool(around.handlers) and child in around.body
    return isinstance(around, ast.ExceptHandler)


def class_of(finding: Finding) -> str:
    """The class of a finding, or an empty string for those without (unreadable files, the summary)."""
    return str(finding.args.get("class", ""))


def places_of(finding: Finding) -> int:
    """Return for how many places a finding stands; one with a place of its own stands for that."""
    return 1 if finding.place else int(str(finding.args.get("count", 1)))


def counts_of(findings: Iterable[Finding]) -> Counter[str]:
    """How many places of each class the findings stand for."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[class_of(finding)] += places_of(finding)
    return counts
