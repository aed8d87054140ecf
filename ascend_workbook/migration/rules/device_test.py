"""Questions whose answer changes: `x.device.type == "cuda"`, `device == torch.device("cuda")`.

torch.device is not patched: one made by hand keeps the type "cuda", a tensor's own says "npu". A branch
taken on CUDA is then silently left out on an NPU (pytorch/examples imagenet trains without DDP that way).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.knowledge import MEASURED, TRANSFER, Known
from ascend_workbook.migration.reading import choices
from ascend_workbook.migration.reading.branches import find_branch, has_data_parallel, has_kernel
from ascend_workbook.migration.reading.calls import (
    behind_last,
    find_argument,
    in_both,
    method_name,
    string_value,
    within_string,
)
from ascend_workbook.migration.reading.choices import find_flags, is_type
from ascend_workbook.migration.reading.kinds import DEVICE, DEVICE_TEXT, OWN, UNKNOWN, find_kinds, says_cuda
from ascend_workbook.migration.reading.settled import later_tests
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, MANUAL, REWRITE, finding_at

CODE = "MIG104"
WORDS = ("cuda", "cpu")
CUTTERS = ("strip", "lstrip", "replace", "removeprefix")
PATTERN = r"cuda|\. type\b"  # with "cpu" alone only `.type` is asked for
KNOWN = Known(MEASURED, TRANSFER, inferred=("assumed",))
DEVICE_NAME = re.compile(r"cuda(:\d*)?\Z")


def check(source: Source) -> Iterable[Finding]:
    for compare in source.nodes_of_type(ast.Compare):
        left, right, operator = compare.left, compare.comparators[0], compare.ops[0]
        if len(compare.ops) == 1 and isinstance(operator, (ast.Eq, ast.NotEq)):
            first = string_value(left) is not None
            yield from _check_equality(source, compare, *((right, left) if first else (left, right)))
        elif len(compare.ops) == 1 and isinstance(operator, (ast.In, ast.NotIn)):
            yield from _check_membership(source, compare, left, right)
    for name in ("startswith", *CUTTERS):
        for call in source.names.calls_by_method.get(name, ()):
            yield from (_check_startswith if name == "startswith" else _check_text_cut)(source, call)
    for flag in find_flags(source):
        yield finding_at(source, flag, "MIG104.holds", AUTO)
    yield from choices.check(source)


def _check_equality(source: Source, compare: ast.Compare, asked_node: ast.expr, value: ast.expr) -> Iterable[Finding]:
    word = string_value(value)
    if word in ("cuda", "cpu") and is_type(asked_node):
        assert isinstance(asked_node, ast.Attribute)
        held = find_kinds(source, asked_node.value)
        if word == "cpu" or held <= {DEVICE}:
            yield finding_at(source, compare, "MIG104.holds", AUTO)
        elif _asks_for_npu(source, compare):
            yield finding_at(source, compare, "MIG104.own_branch", AUTO)
        elif has_kernel(source, find_branch(source, compare)):
            yield finding_at(source, compare, "MIG104.kernels", AUTO)
        elif has_data_parallel(source, find_branch(source, compare)):
            yield finding_at(source, compare, "MIG104.data_parallel", MANUAL)
        else:
            yield finding_at(source, compare, "MIG104.type", REWRITE, _in_both(source, compare, value, "npu"))
    elif word is not None and DEVICE_NAME.match(word):
        if DEVICE_TEXT in find_kinds(source, asked_node):
            edits = _in_both(source, compare, value, word.replace("cuda", "npu"))
            yield finding_at(source, compare, "MIG104.text", REWRITE, edits)
        else:
            yield finding_at(source, compare, f"MIG104.{_judge_certainty(source, asked_node)}", AUTO)
    else:
        yield from _against_device(source, compare, asked_node, value)


def _against_device(
    source: Source, compare: ast.Compare, left_side: ast.expr, right_side: ast.expr
) -> Iterable[Finding]:
    """`x.device == torch.device("cuda:0")`: False on an NPU; torch.device("npu:0") is what x has there."""
    for device_call, asked_node in ((left_side, right_side), (right_side, left_side)):
        name = find_argument(device_call, 0, "device") if isinstance(device_call, ast.Call) else None
        text = string_value(name) if source.names.resolve_call(device_call) == "torch.device" else None
        if text and text.startswith("cuda"):
            if find_kinds(source, asked_node) & OWN:
                assert isinstance(name, ast.Constant)
                yield finding_at(source, compare, "MIG104.device", REWRITE, within_string(source, name, "cuda", "npu"))
            else:
                yield finding_at(source, compare, f"MIG104.{_judge_certainty(source, asked_node)}", AUTO)
        elif (
            find_kinds(source, asked_node) & {DEVICE_TEXT, *OWN}
            and says_cuda(source, device_call)
            and not _moves_to_device(source, compare)
        ):
            yield finding_at(source, compare, "MIG104.by_hand", MANUAL)


def _moves_to_device(source: Source, compare: ast.Compare) -> bool:
    """`if x.device != d: x = x.to(d)`: moving what is there already does nothing."""
    above = source.names.parent_of(compare)
    if not isinstance(above, ast.If) or not isinstance(compare.ops[0], ast.NotEq) or above.orelse:
        return False
    values = [step.value for step in above.body if isinstance(step, (ast.Assign, ast.Expr, ast.Return))]
    return len(values) == len(above.body) and all(
        isinstance(node, ast.Call) and method_name(node) == "to" for node in values
    )


def _check_membership(source: Source, compare: ast.Compare, asked_node: ast.expr, among: ast.expr) -> Iterable[Finding]:
    if string_value(asked_node) == "cuda":  # 'cuda' in str(x.device)
        wrong = bool(find_kinds(source, among) & {DEVICE_TEXT, *OWN})
        outcome, repair = ("text", MANUAL) if wrong else (_judge_certainty(source, among), AUTO)
        yield finding_at(source, compare, f"MIG104.{outcome}", repair)
    elif is_type(asked_node) and isinstance(among, (ast.Tuple, ast.List, ast.Set)):
        assert isinstance(asked_node, ast.Attribute)
        words = [string_value(element) for element in among.elts]
        if "cuda" in words and "npu" not in words and not find_kinds(source, asked_node.value) <= {DEVICE}:
            quoted = source.text_of(among.elts[words.index("cuda")])
            edits = behind_last(source, among, quoted.replace("cuda", "npu"))
            yield finding_at(source, compare, "MIG104.type", REWRITE, edits)


def _check_text_cut(source: Source, call: ast.Call) -> Iterable[Finding]:
    """`int(str(x.device).strip("cuda:"))`: on an NPU the text is "npu:0" and int raises."""
    above = source.names.parent_of(call)
    assert isinstance(call.func, ast.Attribute)
    text, cut = call.func.value, string_value(find_argument(call, 0)) or ""
    if not (isinstance(above, ast.Call) and getattr(above.func, "id", "") == "int" and cut.startswith("cuda")):
        return
    device = find_argument(text, 0) if isinstance(text, ast.Call) and getattr(text.func, "id", "") == "str" else None
    if getattr(device, "attr", "") == "device":
        yield finding_at(source, call, "MIG104.cut", MANUAL)


def _check_startswith(source: Source, call: ast.Call) -> Iterable[Finding]:
    word = find_argument(call, 0)
    assert isinstance(call.func, ast.Attribute)
    if string_value(word) not in ("cuda", "cuda:") or word is None:
        return
    if find_kinds(source, call.func.value) & {DEVICE_TEXT, *OWN}:
        quoted = source.text_of(word)
        start, end = source.span_of(word)
        edits = (Edit(start, end, f"({quoted}, {quoted.replace('cuda', 'npu')})"),)
        yield finding_at(source, call, "MIG104.type", REWRITE, edits)
    else:
        yield finding_at(source, call, f"MIG104.{_judge_certainty(source, call.func.value)}", AUTO)


def _in_both(source: Source, compare: ast.Compare, value: ast.expr, other: str) -> tuple[Edit, ...]:
    """`a == 'x'` as `a in ('x', 'other')`, whichever side the string stands on."""
    quoted = source.text_of(value)
    if quoted[:1] not in ("'", '"'):
        return ()
    return in_both(source, compare, value, f"({quoted}, {quoted[0]}{other}{quoted[0]})")


def _asks_for_npu(source: Source, compare: ast.Compare) -> bool:
    """The same `if` goes on with a branch for npu."""
    above = source.names.parent_of(compare)
    tests = list(later_tests(above)) if isinstance(above, ast.If) else []
    if isinstance(above, ast.IfExp) and isinstance(above.orelse, ast.IfExp):
        tests = [above.orelse.test]
    return any(string_value(inner) == "npu" for test in tests for inner in ast.walk(test))


def _judge_certainty(source: Source, asked_node: ast.expr) -> str:
    """The word is the script's own, or nothing here says whose it is."""
    return "assumed" if UNKNOWN in find_kinds(source, asked_node) else "holds"
