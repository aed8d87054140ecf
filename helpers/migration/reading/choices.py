"""What chooses by a device's type without a comparison: `match x.device.type`, `TABLE[x.device.type]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from helpers.finding import Edit, Finding
from helpers.migration.reading.branches import has_data_parallel, has_kernel
from helpers.migration.reading.by_hand import assigned
from helpers.migration.reading.calls import argument, string
from helpers.migration.reading.flags import is_type
from helpers.migration.reading.kinds import DEVICE, DEVICE_TEXT, UNKNOWN, kinds
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, MANUAL, REWRITE, found

#: Python 3.9 has no match.
MATCH, VALUE, EITHER = (getattr(ast, name, ()) for name in ("Match", "MatchValue", "MatchOr"))
NAMED = getattr(ast, "MatchAs", ())
DEVICE_NAME = re.compile(r"cuda(:\d*)?\Z")


def check(source: Source) -> Iterable[Finding]:
    for match in source.nodes(MATCH) if MATCH else ():
        yield from _matched(source, match)
    told: set[ast.AST] = set()
    for table in _tables(source):
        entry = _without_npu(source, table)
        if entry is not None and entry not in told:
            told.add(entry)
            yield found(source, entry, "MIG104.keyed", MANUAL)


def own_text(source: Source, node: ast.expr) -> bool:
    """The type or text of a device that says npu on an NPU."""
    if is_type(node):
        assert isinstance(node, ast.Attribute)
        return not kinds(source, node.value) <= {DEVICE}
    return DEVICE_TEXT in kinds(source, node)


def _matched(source: Source, match: Any) -> Iterable[Finding]:
    words = [(case, node) for case in match.cases for node in ast.walk(case.pattern) if isinstance(node, VALUE)]
    knows = any((string(node.value) or "").split(":")[0] == "npu" for _, node in words)
    own = own_text(source, match.subject)
    deeper = any(own_text(source, node) for node in ast.walk(match.subject) if isinstance(node, ast.expr))
    for case, node in words:
        if not DEVICE_NAME.match(string(node.value) or ""):
            continue
        if knows:
            yield found(source, node, "MIG104.own_branch", AUTO)
        elif not deeper:
            certain = "assumed" if UNKNOWN in kinds(source, match.subject) else "holds"
            yield found(source, node, f"MIG104.{certain}", AUTO)
        elif has_kernel(source, case.body):
            yield found(source, node, "MIG104.kernels", AUTO)
        elif has_data_parallel(source, case.body):
            yield found(source, node, "MIG104.data_parallel", MANUAL)
        else:
            edits = _either(source, case, node) if own else ()
            yield found(source, node, "MIG104.type", REWRITE, edits)


def _either(source: Source, case: ast.AST, node: Any) -> tuple[Edit, ...]:
    """`case "cuda"` as `case "cuda" | "npu"`; none where it is a part of something larger."""
    for around in source.names.above(node):
        if around is case:
            break
        if not isinstance(around, (EITHER, NAMED)):
            return ()
    quoted = source.segment(node.value)
    _, end = source.span(node.value)
    return (Edit(end, end, f" | {quoted.replace('cuda', 'npu')}"),) if quoted[:1] in ("'", '"') else ()


def _tables(source: Source) -> Iterator[ast.expr]:
    """What is asked with a device's type: `T[x.device.type]`, `T.get(x.device.type)`, `x.device.type in T`."""
    for node in source.nodes(ast.Subscript):
        if load(node) and own_text(source, node.slice):
            yield node.value
    for call in source.names.methods.get("get", ()):
        key = argument(call, 0)
        if key is not None and own_text(source, key):
            assert isinstance(call.func, ast.Attribute)
            yield call.func.value
    for compare in source.nodes(ast.Compare):
        among, is_in = compare.comparators[0], isinstance(compare.ops[0], (ast.In, ast.NotIn))
        if is_in and isinstance(among, (ast.Name, ast.Attribute, ast.Dict)) and own_text(source, compare.left):
            yield among


def _without_npu(source: Source, table: ast.expr) -> ast.AST | None:
    """The entry for cuda of a table that has none for npu; the table's name where another file holds it."""
    for value in _values(source, table):
        if isinstance(value, str) and "cuda" in source.text:
            return table
        keys: list[Any] = []
        if isinstance(value, ast.Dict):
            keys = value.keys
        elif isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            keys = value.elts
        words = {string(key): key for key in keys if key is not None}
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "dict":
            words = {pair.arg: pair for pair in value.keywords}
        if "cuda" in words and "npu" not in words and not _added(source):
            entry: ast.AST = words["cuda"]
            return entry
    return None


def _values(source: Source, table: ast.expr) -> list[Any]:
    """What the table is in this file; the name of what is imported."""
    if isinstance(table, ast.Name):
        return [value for value in source.names.values(table) if value is not None]
    if not isinstance(table, ast.Attribute):
        return [table]
    in_class = [
        assign.value
        for assign in source.nodes(ast.Assign)
        for target in assign.targets
        if isinstance(target, ast.Name)
        and target.id == table.attr
        and isinstance(source.names.parent(assign), ast.ClassDef)
    ]
    return [*assigned(source, table), *in_class]


def _added(source: Source) -> bool:
    """`TABLE["npu"] = ...` somewhere in the file."""
    stored = (node for node in source.nodes(ast.Subscript) if not load(node))
    return any(string(node.slice) == "npu" for node in stored)
