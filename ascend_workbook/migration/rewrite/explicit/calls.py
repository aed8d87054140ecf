"""What calls and commands are handed: "nccl" as "hccl" in every spelling, a device where they name CUDA or mean it.

Megatron's `--distributed-backend` has choices of its own, which its adaptor translates: it stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

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
from ascend_workbook.migration.repair import REWRITE, Findings, found_at
from ascend_workbook.migration.rewrite.explicit.known import Spans, edited_finding, stands_beside, touches_spans
from ascend_workbook.migration.texts import shell

BACKEND = re.compile(r"(?:cpu:gloo,)?(?:cuda:)?nccl(?:,cpu:gloo)?\Z", re.IGNORECASE)
WORD = re.compile(r"nccl|cuda", re.IGNORECASE)
NEW = {"nccl": "hccl", "cuda": "npu"}
#: The attribute under which Megatron keeps its option.
FIXED = {option.lstrip("-").replace("-", "_") for option in shell.FIXED_CHOICES}


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
    if any(string_value(value) in shell.FIXED_CHOICES for value in call.args):
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


#: An option whose name says device or accelerator, with its value.
DEVICE = re.compile(
    r"(?<![\w.-])(?:--?)?[\w.-]*(?:device|accelerator)[\w.-]*(?:=|\s+)"
    r"(['\"]?)(?P<value>cuda)(?=(?::\d+)?\1(?!\S))"
)
#: An argument alone: `--device=cuda:0` or `device=cuda` in one, or the value that follows `--device`.
VALUE = re.compile(r"(?:(?P<option>(?:--?)?[\w.-]+)=)?(?P<value>cuda|nccl|NCCL)(?P<number>(?::\d+)?)\Z")


# What a launch script hands to the script it starts: `--device cuda`, `device=cuda:0`, `--backend nccl`.


def check_commands(source: Source) -> Findings:
    """The findings of a launch script in this mode alone."""
    for start, line in shell.split_commands(source):
        for match in DEVICE.finditer(line):
            at = start + match.start("value")
            edits = (Edit(at, at + len("cuda"), "npu"),)
            yield found_at(source, at, "MIG138.device", REWRITE, edits, name="cuda", new="npu")
        for match in shell.BACKEND.finditer(line):
            if not shell.is_fixed(match.group("option")):
                at = start + match.start("value")
                edits = (Edit(at, at + len("nccl"), "hccl"),)
                yield found_at(source, at, "MIG138.backend", REWRITE, edits, name=match.group("value"), new="hccl")


def rewrite_arguments(args: Sequence[str]) -> tuple[str, ...]:
    """A script's own arguments as the rewritten script takes them: devices say npu, backends hccl."""
    return tuple(_rewrite_argument(argument, args[at - 1] if at else "") for at, argument in enumerate(args))


def _rewrite_argument(argument: str, before: str) -> str:
    """One argument; the option that it is the value of stands in it, or is the whole argument `before` it."""
    match = VALUE.match(argument)
    if match is None:
        return argument
    option = match.group("option") or (before if before.startswith("-") and "=" not in before else "")
    if match.group("value") == "cuda":
        new = "npu" if "device" in option or "accelerator" in option else ""
    else:
        new = "hccl" if "backend" in option and not shell.is_fixed(option) and not match.group("number") else ""
    return f"{argument[: match.start('value')]}{new}{match.group('number')}" if new else argument
