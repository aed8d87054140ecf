"""What calls are handed: "nccl" as "hccl" in every spelling, and the device where a call means CUDA without saying so.

Megatron's `--distributed-backend` has choices of its own, which its adaptor translates: it stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import (
    append_argument,
    find_argument,
    is_docstring,
    method_name,
    string_value,
)
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
    yield from _check_defaults(source)


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


#: Where a device goes: as this keyword behind the others or first, its position, another name for the function.
DEFAULTS: dict[str, tuple[str, int, str]] = api_map.list_names("device_defaults")


def _check_defaults(source: Source) -> Iterable[Finding]:
    """Calls without a device: a GradScaler, the autocast of "the GPU", fork_rng()."""
    for call in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(call)
        starred = [*(isinstance(value, ast.Starred) for value in call.args), *(not pair.arg for pair in call.keywords)]
        if name not in DEFAULTS or any(starred):  # the device may be in `*args` or `**options`
            continue
        keyword, position, new = DEFAULTS[name]
        if find_argument(call, position, keyword) is None:
            edits = _make_default_edits(source, call, name, keyword, new)
            yield edited_finding(source, call, "argument", edits, name, '"npu"')


def _make_default_edits(source: Source, call: ast.Call, name: str, keyword: str, new: str) -> tuple[Edit, ...]:
    if keyword:
        return append_argument(source, call, f'{keyword}="npu"')
    edits: tuple[Edit, ...] = ()
    if new:
        edits = source.replace_text(call.func, name.rpartition(".")[2], new)
        if not edits:
            return ()
    if call.args or call.keywords:
        start, _ = source.span_of((call.args or [call.keywords[0].value])[0])
        return (*edits, Edit(start, start, '"npu", ')) if call.args else ()
    more = append_argument(source, call, '"npu"')
    return (*edits, *more) if more else ()
