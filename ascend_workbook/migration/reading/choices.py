"""What chooses by a device's type without a comparison: `match x.device.type`, `TABLE[x.device.type]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.reading.branches import has_data_parallel, has_kernel
from ascend_workbook.migration.reading.calls import find_argument, string_value
from ascend_workbook.migration.reading.kinds import (
    DEVICE,
    DEVICE_TEXT,
    UNKNOWN,
    find_assigned_values,
    find_kinds,
    is_options,
)
from ascend_workbook.migration.reading.names import is_load
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, MANUAL, REWRITE, finding_at

# Flags: names that were given the answer of a question about the device, where an `if` asks them.


def find_flags(source: Source) -> Iterable[ast.Name]:
    """Find the first name of each condition whose answer holds on an NPU."""
    branches = [(node.test, True) for node in source.nodes_of_type(ast.If)]
    branches += [(node.test, False) for node in source.nodes_of_type(ast.IfExp)]
    for test, available in branches:
        flag = next((node for node in _asked_names(test) if _is_flag(source, node, available)), None)
        if flag is not None:
            yield flag


def _asked_names(test: ast.expr) -> Iterable[ast.Name]:
    """The bare names that a condition asks: `a and not b`."""
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.UnaryOp):
        yield from _asked_names(test.operand)
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _asked_names(value)


def _is_flag(source: Source, node: ast.Name, available: bool) -> bool:
    """The name was given an answer that holds on an NPU: `device.type != "cpu"`, or torch.cuda.is_available()."""
    values = source.names.bound_values(node)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, ast.IfExp) and _is_answer(value):
        value = value.test
    if isinstance(value, ast.Compare):
        return _answers_on_npu(source, value)
    asked = value.values if isinstance(value, ast.BoolOp) else [value] if isinstance(value, ast.expr) else []
    return available and "torch.cuda.is_available" in map(source.names.resolve_call, asked)


def _is_answer(choice: ast.IfExp) -> bool:
    """`True if asked else False`: the answer itself."""
    answers = [getattr(node, "value", None) for node in (choice.body, choice.orelse)]
    return answers[0] is True and answers[1] is False


def _answers_on_npu(source: Source, compare: ast.Compare) -> bool:
    left, right = compare.left, compare.comparators[0]
    asked_node, word = (right, string_value(left)) if string_value(left) is not None else (left, string_value(right))
    if word not in ("cuda", "cpu") or len(compare.ops) != 1 or not is_type(asked_node):
        return False
    assert isinstance(asked_node, ast.Attribute)
    return word == "cpu" or find_kinds(source, asked_node.value) <= {DEVICE}


def is_type(node: ast.expr) -> bool:
    """Return whether it is `….type` of no settings object: compared with "cuda" or "cpu" it is a device's."""
    return isinstance(node, ast.Attribute) and node.attr == "type" and not is_options(node.value)


#: Python 3.9 has no match.
MATCH, VALUE, EITHER = (getattr(ast, name, ()) for name in ("Match", "MatchValue", "MatchOr"))
NAMED = getattr(ast, "MatchAs", ())
DEVICE_NAME = re.compile(r"cuda(:\d*)?\Z")


def check(source: Source) -> Iterable[Finding]:
    for match in source.nodes_of_type(MATCH) if MATCH else ():
        yield from _check_match(source, match)
    reported: set[ast.AST] = set()
    for table in _find_asked_tables(source):
        entry = _without_npu(source, table)
        if entry is not None and entry not in reported:
            reported.add(entry)
            yield finding_at(source, entry, "MIG104.keyed", MANUAL)


def own_text(source: Source, node: ast.expr) -> bool:
    """The type or text of a device that says npu on an NPU."""
    if is_type(node):
        assert isinstance(node, ast.Attribute)
        return not find_kinds(source, node.value) <= {DEVICE}
    return DEVICE_TEXT in find_kinds(source, node)


def _check_match(source: Source, match: Any) -> Iterable[Finding]:
    words = [(case, node) for case in match.cases for node in ast.walk(case.pattern) if isinstance(node, VALUE)]
    knows = any((string_value(node.value) or "").split(":")[0] == "npu" for _, node in words)
    own = own_text(source, match.subject)
    deeper = any(own_text(source, node) for node in ast.walk(match.subject) if isinstance(node, ast.expr))
    for case, node in words:
        if not DEVICE_NAME.match(string_value(node.value) or ""):
            continue
        if knows:
            yield finding_at(source, node, "MIG104.own_branch", AUTO)
        elif not deeper:
            certain = "assumed" if UNKNOWN in find_kinds(source, match.subject) else "holds"
            yield finding_at(source, node, f"MIG104.{certain}", AUTO)
        elif has_kernel(source, case.body):
            yield finding_at(source, node, "MIG104.kernels", AUTO)
        elif has_data_parallel(source, case.body):
            yield finding_at(source, node, "MIG104.data_parallel", MANUAL)
        else:
            edits = _add_npu_case(source, case, node) if own else ()
            yield finding_at(source, node, "MIG104.type", REWRITE, edits)


def _add_npu_case(source: Source, case: ast.AST, node: Any) -> tuple[Edit, ...]:
    """`case "cuda"` as `case "cuda" | "npu"`; none where it is a part of something larger."""
    for around in source.names.nodes_above(node):
        if around is case:
            break
        if not isinstance(around, (EITHER, NAMED)):
            return ()
    quoted = source.text_of(node.value)
    _, end = source.span_of(node.value)
    return (Edit(end, end, f" | {quoted.replace('cuda', 'npu')}"),) if quoted[:1] in ("'", '"') else ()


def _find_asked_tables(source: Source) -> Iterator[ast.expr]:
    """What is asked with a device's type: `T[x.device.type]`, `T.get(x.device.type)`, `x.device.type in T`."""
    for node in source.nodes_of_type(ast.Subscript):
        if is_load(node) and own_text(source, node.slice):
            yield node.value
    for call in source.names.calls_by_method.get("get", ()):
        key = find_argument(call, 0)
        if key is not None and own_text(source, key):
            assert isinstance(call.func, ast.Attribute)
            yield call.func.value
    for compare in source.nodes_of_type(ast.Compare):
        among, is_in = compare.comparators[0], isinstance(compare.ops[0], (ast.In, ast.NotIn))
        if is_in and isinstance(among, (ast.Name, ast.Attribute, ast.Dict)) and own_text(source, compare.left):
            yield among


def _without_npu(source: Source, table: ast.expr) -> ast.AST | None:
    """The entry for cuda of a table that has none for npu; the table's name where another file holds it."""
    for value in _table_values(source, table):
        if isinstance(value, str) and "cuda" in source.text:
            return table
        keys = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", [])
        words = {string_value(key): key for key in keys if key is not None}
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "dict":
            words = {pair.arg: pair for pair in value.keywords}
        stored = (node for node in source.nodes_of_type(ast.Subscript) if not is_load(node))
        added = any(string_value(node.slice) == "npu" for node in stored)  # `TABLE["npu"] = ...`
        if "cuda" in words and "npu" not in words and not added:
            entry: ast.AST = words["cuda"]
            return entry
    return None


def _table_values(source: Source, table: ast.expr) -> list[Any]:
    """What the table is in this file; the name of what is imported."""
    if isinstance(table, ast.Name):
        return [value for value in source.names.bound_values(table) if value is not None]
    if not isinstance(table, ast.Attribute):
        return [table]
    in_class = [
        assign.value
        for assign in source.nodes_of_type(ast.Assign)
        for target in assign.targets
        if isinstance(target, ast.Name)
        and target.id == table.attr
        and isinstance(source.names.parent_of(assign), ast.ClassDef)
    ]
    return [*find_assigned_values(source, table), *in_class]
