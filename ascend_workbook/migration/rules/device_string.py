"""Device strings: "cuda", "cuda:0", f"cuda:{rank}".

transfer_to_npu replaces them where they are used: in 47 torch functions, Tensor.to and new_*, Module.to and
more. Functions outside its lists raise with a CUDA device; there the string must say npu.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import (
    is_as_written,
    is_docstring,
    method_name,
    only_names,
    string_value,
    within_string,
)
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, AUTO, MEASURED, REWRITE, TRANSFER, Findings, Known, finding_at
from ascend_workbook.migration.rules import amp

CODE = "MIG102"
WORDS = ("cuda",)
KNOWN = Known(MEASURED, TRANSFER)
DEVICE = re.compile(r"cuda(:(\d*|\{.*\}|%[ds]))?\Z")
#: Not in transfer_to_npu's lists; each raised when run under it (torch_npu 2.13.0).
NOT_REPLACED = set(api_map.list_names("not_replaced"))
#: Messages, and calls that other rules speak of.
ELSEWHERE = ("startswith", "info", "debug", "warning", "error", "cuda", "type")
#: What else may be called cuda.
OTHER = {"impl", "implementation", "kernel", "kernel_type", "kernel_impl", "op_backend"}
#: Options of a call that name something: `add_option(name="cuda")`.
NAMING = set("dest name extra tag tags lang help metavar prefix suffix fmt label title".split())
#: Calls that take the word for a pattern, a path or the name of an attribute.
PLAIN = ("re.", "os.path.", "logging.", "importlib.", "hasattr", "getattr", "setattr")
#: Work on the text itself.
TEXT = ("replace", "split", "strip", "lstrip", "removeprefix", "endswith", "find", "count")


def check(source: Source) -> Findings:
    texts: list[ast.expr] = [node for node, text in source.strings if DEVICE.match(text)]
    formats = source.nodes_of_type(ast.JoinedStr)
    texts += [node for node in formats if node.values and string_value(node.values[0]) in ("cuda", "cuda:")]
    for node in texts:
        if not is_docstring(source, node) and not _is_compared(source, node):
            yield from _judge_device_string(source, node)


def _judge_device_string(source: Source, node: ast.expr) -> Findings:
    above = source.names.parent_of(node)
    if isinstance(above, (ast.JoinedStr, ast.Subscript)) or is_other(source, node) or only_names(source, node):
        return
    if isinstance(above, (ast.List, ast.Tuple, ast.Set)) and "npu" in map(string_value, above.elts):
        return  # `states["cuda"]`: a key of the script's own
    call = next((up for up in source.names.nodes_above(node) if isinstance(up, ast.Call)), None)
    if call and source.names.resolve_call(call).startswith(amp.NAMES):
        return  # amp.py speaks of the call
    if isinstance(above, ast.keyword) and above.arg == "pin_memory_device":
        yield finding_at(source, node, "MIG102.pin_memory_device", ADVICE)
    elif call and (name := source.names.resolve_call(call)) in NOT_REPLACED:
        yield finding_at(source, node, "MIG102.not_replaced", REWRITE, make_device_edits(source, node), name=name)
    elif not (call and (method_name(call) in (*ELSEWHERE, *TEXT) or getattr(call.func, "id", "") == "print")):
        yield finding_at(source, node, "MIG102.replaced", AUTO)


def is_other(source: Source, node: ast.expr) -> bool:
    """Not a device: a key, a pattern, an attribute's name, or an implementation's (`impl="cuda"`)."""
    above = source.names.parent_of(node)
    if isinstance(above, ast.Dict):
        return string_value(node) == "cuda" and node in above.keys
    if isinstance(above, ast.Call):
        called = source.names.resolve_call(above) or getattr(above.func, "id", "")
        return called.startswith(PLAIN) and node in above.args[:2]
    if isinstance(above, (ast.List, ast.Tuple)):
        above = source.names.parent_of(above)
    if isinstance(above, ast.keyword):
        call = source.names.parent_of(above)
        option = string_value(call.args[0]) if isinstance(call, ast.Call) and call.args else None
        return above.arg in OTHER | NAMING or (option or "").lstrip("-") in OTHER
    if isinstance(above, ast.arguments):
        named = [*above.posonlyargs, *above.args][-len(above.defaults) :] if above.defaults else []
        pairs = [*zip(named, above.defaults), *zip(above.kwonlyargs, above.kw_defaults)]
        return any(value is node and argument.arg in OTHER for argument, value in pairs)
    return False


def _is_compared(source: Source, node: ast.AST) -> bool:
    """Comparisons belong to device_test.py."""
    above = source.names.parent_of(node)
    makes_device = isinstance(above, ast.Call) and source.names.resolve_call(above) == "torch.device"
    if makes_device or isinstance(above, (ast.Tuple, ast.List, ast.Set)):
        above = source.names.parent_of(above) if above else None
    return isinstance(above, (ast.Compare, getattr(ast, "MatchValue", ast.Compare)))


def make_device_edits(source: Source, node: ast.AST) -> tuple[Edit, ...]:
    """Write npu for the cuda that a string begins with; nothing where the text is not what the tree says."""
    if isinstance(node, ast.Constant):
        return within_string(source, node, "cuda", "npu") if is_as_written(source, node) else ()
    start, end = source.span_of(node)
    match = re.compile(r"[rR]?[fF][rR]?['\"]+cuda").match(source.text, start, end)
    return (Edit(match.end() - 4, match.end(), "npu"),) if match else ()
