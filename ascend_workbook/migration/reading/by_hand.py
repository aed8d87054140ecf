"""Whether an expression may be a CUDA device, or the text of one, that the script wrote itself.

torch.device is not patched: such a device says "cuda" on an NPU, where a tensor's own says "npu".
"""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.calls import find_argument, string_value
from ascend_workbook.migration.reading.kinds import DEPTH, UNKNOWN, find_kinds
from ascend_workbook.migration.reading.source import Source


def says_cuda(source: Source, node: ast.AST | str | None, depth: int = DEPTH) -> bool:
    """Return whether a value says cuda: `torch.device("cuda:0")`, `"cuda" if gpu else "cpu"`, or a name that this file
    gives such a value.
    """
    if depth == 0 or not isinstance(node, ast.expr):
        return False
    return any(says_cuda(source, part, depth - 1) for part in _split_alternatives(source, node)) or _is_cuda(
        source, node
    )


def _is_cuda(source: Source, node: ast.expr) -> bool:
    if source.names.resolve_call(node) == "torch.device":
        assert isinstance(node, ast.Call)
        name = find_argument(node, 0, "device")
        if name is None or isinstance(name, ast.Constant) or "cuda" not in source.text:
            return False
        return find_kinds(source, name) == {UNKNOWN}  # `args.device`
    return (string_value(node) or "").startswith("cuda")


def _split_alternatives(source: Source, node: ast.expr) -> list[ast.expr]:
    """The expressions that decide which device this one is."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.BinOp):
        return [node.left]
    if isinstance(node, ast.JoinedStr):
        return node.values[:1]
    if isinstance(node, ast.Call):
        return _find_given_device(source, node)
    if isinstance(node, ast.Attribute):
        return [node.value] if node.attr == "type" else find_assigned_values(source, node)
    values = source.names.bound_values(node) if isinstance(node, ast.Name) else []
    return [value for value in values if isinstance(value, ast.expr)]


def _find_given_device(source: Source, call: ast.Call) -> list[ast.expr]:
    """What torch.device(...) and str(...) are given; the text of `"cuda:{}".format(...)`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "format":
        return [call.func.value]
    makes_device = source.names.resolve_call(call) == "torch.device" or getattr(call.func, "id", "") == "str"
    name = find_argument(call, 0, "device") if makes_device else None
    return [name] if name is not None else []


def find_assigned_values(source: Source, node: ast.Attribute) -> list[ast.expr]:
    """Return what this file assigns to `self.device`."""
    assigned_pairs = source.names.assigned_attributes.get(node.attr, [])
    base = ast.dump(node.value) if assigned_pairs else ""
    return [value for owner, value in assigned_pairs if owner == base]
