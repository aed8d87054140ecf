"""Flags: names that were given the answer of a question about the device, where an `if` asks them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.migration.reading.calls import string
from helpers.migration.reading.kinds import DEVICE, is_options, kinds
from helpers.migration.reading.source import Source


def flags(source: Source) -> Iterable[ast.Name]:
    """The first of each condition whose answer holds on an NPU."""
    branches = [(node.test, True) for node in source.nodes(ast.If)]
    branches += [(node.test, False) for node in source.nodes(ast.IfExp)]
    for test, available in branches:
        flag = next((node for node in _asked(test) if _is_flag(source, node, available)), None)
        if flag is not None:
            yield flag


def _asked(test: ast.expr) -> Iterable[ast.Name]:
    """The bare names that a condition asks: `a and not b`."""
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.UnaryOp):
        yield from _asked(test.operand)
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _asked(value)


def _is_flag(source: Source, node: ast.Name, available: bool) -> bool:
    """The name was given an answer that holds on an NPU: `device.type != "cpu"`, or torch.cuda.is_available()."""
    values = source.names.values(node)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, ast.IfExp) and _is_answer(value):
        value = value.test
    if isinstance(value, ast.Compare):
        return _holds(source, value)
    asked = value.values if isinstance(value, ast.BoolOp) else [value] if isinstance(value, ast.expr) else []
    return available and any(source.names.call(each) == "torch.cuda.is_available" for each in asked)


def _is_answer(choice: ast.IfExp) -> bool:
    """`True if asked else False`: the answer itself."""
    given = [getattr(node, "value", None) for node in (choice.body, choice.orelse)]
    return given[0] is True and given[1] is False


def _holds(source: Source, compare: ast.Compare) -> bool:
    left, right = compare.left, compare.comparators[0]
    asked, word = (right, string(left)) if string(left) is not None else (left, string(right))
    if word not in ("cuda", "cpu") or len(compare.ops) != 1 or not is_type(asked):
        return False
    assert isinstance(asked, ast.Attribute)
    return word == "cpu" or kinds(source, asked.value) <= {DEVICE}


def is_type(node: ast.expr) -> bool:
    """`….type` of anything but a settings object: compared with "cuda" or "cpu" it is a device's."""
    return isinstance(node, ast.Attribute) and node.attr == "type" and not is_options(node.value)
