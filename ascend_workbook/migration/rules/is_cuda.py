"""`x.is_cuda` is True for a tensor on an NPU under transfer_to_npu.

Right for "is it on the accelerator", wrong where the branch holds CUDA kernels or Triton: those would then
run on an NPU. Where the branch says so, the question gets `and x.device.type != "npu"`.
"""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.branches import find_branch, has_data_parallel, has_kernel
from ascend_workbook.migration.reading.calls import is_load
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, MANUAL, MEASURED, REWRITE, TRANSFER, Findings, Known, finding_at

CODE = "MIG105"
TOKENS = ("is_cuda",)
KNOWN = Known(MEASURED, TRANSFER)


def check(source: Source) -> Findings:
    for node in source.nodes_of_type(ast.Attribute):
        if node.attr != "is_cuda" or not is_load(node) or _is_guarded(source, node):
            continue
        if not is_own(source, node):
            branch_nodes = find_branch(source, node)
            if has_kernel(source, branch_nodes):
                yield finding_at(source, node, "MIG105.kernel", REWRITE, _make_type_edits(source, node))
            elif has_data_parallel(source, branch_nodes):
                yield finding_at(source, node, "MIG105.data_parallel", MANUAL)
            else:
                yield finding_at(source, node, "MIG105.true", AUTO)


def is_own(source: Source, node: ast.Attribute) -> bool:
    """Return whether it is `self.is_cuda` of a class that sets it itself: no tensor's."""
    if getattr(node.value, "id", "") != "self":
        return False
    attributes = (other for other in source.nodes_of_type(ast.Attribute) if other.attr == "is_cuda")
    return any(not is_load(other) and getattr(other.value, "id", "") == "self" for other in attributes)


def _is_guarded(source: Source, node: ast.Attribute) -> bool:
    """Part of an `and` that already asks for npu."""
    above = source.names.parent_of(node)
    return isinstance(above, ast.BoolOp) and any(
        isinstance(inner, ast.Constant) and inner.value == "npu" for value in above.values for inner in ast.walk(value)
    )


def _make_type_edits(source: Source, node: ast.Attribute) -> tuple[Edit, ...]:
    """None where asking twice is not asking once: `next(it).is_cuda`, `queue.pop().is_cuda`."""
    start, end = source.span_of(node)
    if source.text[end - 7 : end] != "is_cuda" or not _is_plain(node.value):
        return ()
    return (Edit(start, start, "("), Edit(end, end, f' and {source.text_of(node.value)}.device.type != "npu")'))


def _is_plain(node: ast.expr) -> bool:
    """Reading it again gives the same: a name, its attributes, an element by a fixed index."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Constant, ast.Name, ast.UnaryOp)):
            return False
        node = node.value
    return isinstance(node, ast.Name)
