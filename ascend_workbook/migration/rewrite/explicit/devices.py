"""Device strings: "cuda" as "npu" wherever it names a device, so that what is compared still agrees.

Words in messages and names of options are no devices and stay, keys unless keys.py is certain of them, and what
is compared with a value from outside the source (is_outside). Where the code already knows "npu" beside it,
nothing changes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.reading.branches import find_branch, has_data_parallel, has_kernel
from ascend_workbook.migration.reading.calls import (
    find_argument,
    is_as_written,
    is_docstring,
    method_name,
    string_value,
    within_string,
)
from ascend_workbook.migration.reading.kinds import DEVICE_TEXT, OWN, about_devices, find_kinds, is_options
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MANUAL, finding_at
from ascend_workbook.migration.rewrite.explicit.keys import find_certain_keys, holds_keys, is_outside
from ascend_workbook.migration.rewrite.explicit.known import (
    Spans,
    edited_finding,
    no_form,
    stands_beside,
    touches_spans,
)
from ascend_workbook.migration.rules.device_string import NAMING, TEXT, is_other

DEVICE = re.compile(r"cuda(:\d*)?\Z")
MESSAGES = {"print", "info", "debug", "warning", "warn", "error", "exception", "critical", "log", "write"}
#: Calls that look up an attribute or key by its name.
ATTRIBUTES = {"getattr", "hasattr", "setattr", "delattr"}
KEYED = {"get", "pop", "setdefault"}


def check(source: Source, spans: Spans) -> Iterable[Finding]:
    nodes: tuple[ast.expr, ...] = (*source.nodes_of_type(ast.Constant), *source.nodes_of_type(ast.JoinedStr))
    named = [(node, text) for node in nodes if (text := _named_device(node)) is not None]
    keys = find_certain_keys(source) if named else set()
    for node, text in named:
        if is_docstring(source, node) or (node not in keys and _is_name(source, node)):
            continue
        if isinstance(source.names.parent_of(node), (ast.JoinedStr, ast.FormattedValue)):
            continue
        if stands_beside(source, node, "npu") or _guards_cuda_branch(source, node):
            continue
        if node not in keys and (why := _explain_elsewhere(source, node)):
            yield finding_at(source, node, f"MIG138.{why}", MANUAL, name=text)
            continue
        if _is_other_text(source, node, text):
            yield no_form(source, node, text)
            continue
        edits = _make_device_edits(source, node)
        if not touches_spans(edits, spans):
            yield edited_finding(source, node, "device", edits, text, text.replace("cuda", "npu", 1))


def _named_device(node: ast.AST) -> str | None:
    """The device a string names, as far as it is written."""
    if isinstance(node, ast.JoinedStr):
        first = string_value(node.values[0]) if node.values else None
        return first if first == "cuda:" or (first == "cuda" and len(node.values) > 1) else None
    text = string_value(node)
    return text if text is not None and DEVICE.match(text) else None


def _is_name(source: Source, node: ast.expr) -> bool:
    """A key, an attribute, an option, an implementation or a word of a message: no device."""
    above = source.names.parent_of(node)
    looked_up = isinstance(above, ast.Call) and getattr(above.func, "id", "") in ATTRIBUTES
    if not isinstance(above, ast.Dict) and not looked_up and is_other(source, node):
        return True
    if isinstance(above, ast.Subscript):  # `Literal["cuda"]` in an annotation
        return source.names.resolve_name(above.value).rpartition(".")[2] != "Literal"
    if isinstance(above, ast.keyword):
        above_call = source.names.parent_of(above)
        return above.arg in NAMING or (isinstance(above_call, ast.Call) and method_name(above_call) == "extra")
    if isinstance(above, ast.Dict) and node in above.keys:
        up = source.names.parent_of(above)
        return isinstance(up, ast.keyword) and up.arg in ("extras_require", "package_data", "entry_points")
    if isinstance(above, ast.Call) and node in above.args:
        called = method_name(above) or getattr(above.func, "id", "")
        if called in ATTRIBUTES:
            at = above.args.index(node)  # the third is a value: what to take, or to set
            return at == 0 or (at == 1 and source.names.resolve_name(above.args[0]) != "torch")
        if called in KEYED and isinstance(above.func, ast.Attribute):
            return above.args[0] is node
        return called in MESSAGES or called in ("add_argument", "type", "add_parser", "import_module", "__import__")
    return False


def _explain_elsewhere(source: Source, node: ast.expr) -> str:
    """Why a place cannot be judged alone: a key that other files may look up, or a value that they give."""
    above = source.names.parent_of(node)
    if isinstance(above, ast.Dict) and node in above.keys:
        return "key"
    if isinstance(above, (ast.Tuple, ast.List, ast.Set)):
        above = source.names.parent_of(above)
    if not isinstance(above, ast.Compare):
        return ""
    sides = [above.left, *above.comparators]
    if isinstance(above.ops[0], (ast.In, ast.NotIn)) and node is above.left and holds_keys(source, sides[1]):
        return "key"
    return "outside" if any(is_outside(source, side) for side in sides if side is not node) else ""


def _guards_cuda_branch(source: Source, node: ast.AST) -> bool:
    """The question opens a branch with CUDA kernels or nn.DataParallel: it stays closed to an NPU."""
    above = source.names.parent_of(node)
    if not isinstance(above, ast.Compare):
        return False
    branch_nodes = find_branch(source, above)
    return has_kernel(source, branch_nodes) or has_data_parallel(source, branch_nodes)


def _is_other_text(source: Source, node: ast.AST, text: str) -> bool:
    """Part of work on a text that nothing here says to be a device's."""
    call = source.names.parent_of(node)
    if not isinstance(call, ast.Call) or find_argument(call, 0) is not node or not isinstance(call.func, ast.Attribute):
        return False
    if method_name(call) not in (*TEXT, "startswith") or ":" in text:
        return False
    held = call.func.value
    option = isinstance(held, ast.Attribute) and is_options(held.value) and "device" in held.attr.lower()
    return not (find_kinds(source, held) & {DEVICE_TEXT, *OWN} or about_devices(held) or option)


def _make_device_edits(source: Source, node: ast.AST) -> tuple[Edit, ...]:
    if isinstance(node, ast.Constant):
        return within_string(source, node, "cuda", "npu") if is_as_written(source, node) else ()
    start, end = source.span_of(node)
    text = source.text[start:end]
    at = text.find("cuda")
    return (Edit(start + at, start + at + 4, "npu"),) if re.match(r"[rR]?[fF][rR]?['\"]+cuda", text) else ()
