"""The backend's name: "nccl" as "hccl", in every spelling.

Megatron's `--distributed-backend` has choices of its own, which its adaptor translates: it stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.reading.calls import is_docstring, method_name, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.rewrite.explicit.known import Spans, edited_finding, stands_beside, touches_spans
from ascend_workbook.migration.texts.shell import FIXED_CHOICES

BACKEND = re.compile(r"(?:cpu:gloo,)?(?:cuda:)?nccl(?:,cpu:gloo)?\Z", re.IGNORECASE)
WORD = re.compile(r"nccl|cuda", re.IGNORECASE)
NEW = {"nccl": "hccl", "cuda": "npu"}
#: The attribute under which Megatron keeps its option.
FIXED = {option.lstrip("-").replace("-", "_") for option in FIXED_CHOICES}


def check(source: Source, spans: Spans) -> Iterable[Finding]:
    for node in source.nodes_of_type(ast.Constant):
        text = string_value(node)
        if text is None or not BACKEND.match(text) or _keeps_backend(source, node):
            continue
        start, end = source.span_of(node)
        edits = tuple(
            Edit(start + match.start(), start + match.end(), NEW[match.group().lower()])
            for match in WORD.finditer(source.text[start:end])
        )
        if source.text[start : start + 1].lower() not in "'\"rub":
            edits = ()
        if not touches_spans(edits, spans):
            new = WORD.sub(lambda match: NEW[match.group().lower()], text)
            yield edited_finding(source, node, "backend", edits, text, new)


def _keeps_backend(source: Source, node: ast.Constant) -> bool:
    above = source.names.parent_of(node)
    if (
        is_docstring(source, node)
        or stands_beside(source, node, "hccl")
        or isinstance(above, (ast.Subscript, ast.JoinedStr))
    ):
        return True
    if isinstance(above, ast.Compare) and any(
        isinstance(side, ast.Attribute) and side.attr in FIXED for side in (above.left, *above.comparators)
    ):
        return True
    call = next((up for up in source.names.nodes_above(node) if isinstance(up, (ast.Call, ast.stmt))), None)
    if not isinstance(call, ast.Call):
        return False
    if any(string_value(value) in FIXED_CHOICES for value in call.args):
        return True
    return (method_name(call) or getattr(call.func, "id", "")) in ("print", "info", "debug", "warning", "warn", "error")
