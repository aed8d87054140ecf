"""`.cuda()` as `.npu()`, `def cuda(self)` of a class as `def npu(self)`, `.is_cuda` as `.is_npu`."""

from __future__ import annotations

import ast
import re

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.branches import find_branch, has_data_parallel
from ascend_workbook.migration.reading.calls import is_load, method_name
from ascend_workbook.migration.reading.kinds import is_options
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MANUAL, Findings, finding_at
from ascend_workbook.migration.rewrite.explicit.known import Spans, edited_finding, touches_spans
from ascend_workbook.migration.rules.is_cuda import is_own

#: A method that is read like a value.
READ = ("property", "setter", "getter", "deleter")


def check(source: Source, spans: Spans) -> Findings:
    for call in source.nodes_of_type(ast.Call):
        if method_name(call) == "cuda" and not source.names.resolve_name(call.func).startswith("torch."):
            edits = source.replace_text(call.func, "cuda", "npu")
            if not touches_spans(edits, spans):
                yield edited_finding(source, call.func, "moved", edits, ".cuda()", ".npu()")
    yield from _rename_defined_methods(source)
    for node in source.nodes_of_type(ast.Attribute):
        if node.attr != "is_cuda" or not is_load(node) or _knows_npu(source, node):
            continue
        if not is_own(source, node) and not has_data_parallel(source, find_branch(source, node)):
            edits = source.replace_text(node, "is_cuda", "is_npu")
            if not touches_spans(edits, spans):
                yield edited_finding(source, node, "asked", edits, ".is_cuda", ".is_npu")


def _rename_defined_methods(source: Source) -> Findings:
    """Methods called cuda, and the places that read one without a call. A property keeps its name."""
    named = [node for node in source.nodes_of_type(ast.FunctionDef) if node.name == "cuda"]
    methods = [node for node in named if isinstance(source.names.parent_of(node), ast.ClassDef)]
    marks = [mark for node in methods for mark in node.decorator_list]
    if any((getattr(mark, "attr", "") or getattr(mark, "id", "")).endswith(READ) for mark in marks):
        return
    for definition in methods:
        start, end = source.span_of(definition)
        match = re.compile(r"def[ \t]+(cuda)\b").match(source.text, start, end)
        edits = (Edit(match.start(1), match.end(1), "npu"),) if match else ()
        yield edited_finding(source, definition, "moved", edits, "def cuda", "def npu")
    classes = {source.names.parent_of(node) for node in methods}
    for node in source.nodes_of_type(ast.Attribute):
        if node.attr != "cuda" or not is_load(node) or not _is_read(source, node):
            continue
        own = getattr(node.value, "id", "") in ("self", "cls")
        if own and classes & set(source.names.nodes_above(node)):
            yield edited_finding(source, node, "moved", source.replace_text(node, "cuda", "npu"), ".cuda", ".npu")
        elif not is_options(node.value) and "cuda" not in source.names.assigned_attributes:
            yield finding_at(source, node, "MIG138.read", MANUAL, name=source.text_of(node))


def _is_read(source: Source, node: ast.Attribute) -> bool:
    """`.cuda` of what may be a module or tensor, neither called nor asked like a flag."""
    above = source.names.parent_of(node)
    name = source.names.resolve_name(node)
    if name.startswith("torch."):
        return name in ("torch.Tensor.cuda", "torch.nn.Module.cuda")
    if isinstance(above, ast.Call) and above.func is node:
        return False
    if isinstance(above, ast.keyword) and "cuda" in (above.arg or "").lower():
        return False
    if isinstance(above, ast.Assign) and any("cuda" in getattr(target, "id", "").lower() for target in above.targets):
        return False
    return not isinstance(
        above, (ast.Attribute, ast.Subscript, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.If, ast.While, ast.IfExp)
    ) or (isinstance(above, ast.IfExp) and above.test is not node)


def _knows_npu(source: Source, node: ast.AST) -> bool:
    """Part of an `and` or `or` that asks for the NPU too."""
    above = source.names.parent_of(node)
    return isinstance(above, ast.BoolOp) and any(
        (isinstance(inner, ast.Attribute) and inner.attr == "is_npu")
        or (isinstance(inner, ast.Constant) and inner.value == "npu")
        for inner in ast.walk(above)
    )
