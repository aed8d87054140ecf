"""Flags: names that were given the answer of a question about the device, where an `if` asks them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.kinds import DEVICE, find_kinds, is_options
from ascend_workbook.migration.reading.source import Source


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
    asked_values = value.values if isinstance(value, ast.BoolOp) else [value] if isinstance(value, ast.expr) else []
    return available and any(
        source.names.resolve_call(asked_value) == "torch.cuda.is_available" for asked_value in asked_values
    )


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
