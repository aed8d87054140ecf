"""Calls that mean CUDA without saying so: a GradScaler without a device, the autocast of "the GPU", fork_rng()."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.reading.calls import append_argument, find_argument
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.rewrite.explicit.known import Spans, edited_finding


class Default(NamedTuple):
    """Where a device goes: as this keyword behind the others, or first; `new` is another name for the function."""

    keyword: str = ""
    position: int = 0
    new: str = ""


DEFAULTS = {
    "torch.amp.GradScaler": Default("device", 0),
    "torch.amp.grad_scaler.GradScaler": Default("device", 0),
    "torch.GradScaler": Default("device", 0),
    "torch.random.fork_rng": Default("device_type", 4),
    "torch.is_autocast_enabled": Default(),
    "torch.get_autocast_gpu_dtype": Default(new="get_autocast_dtype"),
    "torch.set_autocast_enabled": Default(position=1),
    "torch.set_autocast_gpu_dtype": Default(position=1, new="set_autocast_dtype"),
}


def check(source: Source, _: Spans) -> Iterable[Finding]:
    for call in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(call)
        default = DEFAULTS.get(name)
        starred = [*(isinstance(value, ast.Starred) for value in call.args), *(not pair.arg for pair in call.keywords)]
        if default is None or any(starred):  # the device may be in `*args` or `**options`
            continue
        if find_argument(call, default.position, default.keyword) is None:
            edits = _make_default_edits(source, call, name, default)
            yield edited_finding(source, call, "argument", edits, name, '"npu"')


def _make_default_edits(source: Source, call: ast.Call, name: str, default: Default) -> tuple[Edit, ...]:
    if default.keyword:
        return append_argument(source, call, f'{default.keyword}="npu"')
    edits: tuple[Edit, ...] = ()
    if default.new:
        edits = source.replace_text(call.func, name.rpartition(".")[2], default.new)
        if not edits:
            return ()
    if call.args or call.keywords:
        start, _ = source.span_of((call.args or [call.keywords[0].value])[0])
        return (*edits, Edit(start, start, '"npu", ')) if call.args else ()
    more = append_argument(source, call, '"npu"')
    return (*edits, *more) if more else ()
