"""Calls that mean CUDA without saying so: a GradScaler without a device, the autocast of "the GPU", fork_rng()."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import append_argument, find_argument
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.rewrite.explicit.known import Spans, edited_finding

#: Where a device goes: as this keyword behind the others or first, its position, another name for the function.
DEFAULTS: dict[str, tuple[str, int, str]] = api_map.list_names("device_defaults")


def check(source: Source, _: Spans) -> Iterable[Finding]:
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
