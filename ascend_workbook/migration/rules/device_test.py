"""Questions whose answer changes: `x.device.type == "cuda"`, `device == torch.device("cuda")`.

torch.device is not patched: one made by hand keeps the type "cuda", a tensor's own says "npu". A branch
taken on CUDA is then silently left out on an NPU (pytorch/examples imagenet trains without DDP that way).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.branches import find_branch, has_data_parallel, has_kernel, later_tests
from ascend_workbook.migration.reading.calls import (
    behind_last,
    find_argument,
    in_both,
    is_load,
    method_name,
    string_value,
    within_string,
)
from ascend_workbook.migration.reading.kinds import (
    DEVICE,
    DEVICE_TEXT,
    OWN,
    UNKNOWN,
    find_assigned_values,
    find_kinds,
    is_options,
    says_cuda,
)
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, MANUAL, MEASURED, REWRITE, TRANSFER, Findings, Known, finding_at

# Flags: names that were given the answer of a question about the device, where an `if` asks them.


def find_flags(source: Source) -> Iterable[ast.Name]:
    """Find the first name of each condition whose answer holds on an NPU."""
    branches = [(node.test, True) for node in source.nodes_of_type(ast.If)]
    branches += [(node.test, False) for node in source.nodes_of_type(ast.IfExp)]
    for test, available in branches:
        flag = next((node for node in _asked_names(test) if _is_flag(source, node, available)), None)
        if flag is not None:
            yield flag


def _asked_names(test: ast.expr) -> Iterable[ast.Name]:
    """The bare names that a condition asks: `a and not b`."""
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.UnaryOp):
        yield from _asked_names(test.operand)
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _asked_names(value)


def _is_flag(source: Source, node: ast.Name, available: bool) -> bool:
    """The name was given an answer that holds on an NPU: `device.type != "cpu"`, or torch.cuda.is_available()."""
    values = source.names.bound_values(node)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, ast.IfExp) and _is_constant(value.body, True) and _is_constant(value.orelse, False):
        value = value.test  # `True if asked else False`: the answer itself
    if isinstance(value, ast.Compare):
        return _answers_on_npu(source, value)
    asked = value.values if isinstance(value, ast.BoolOp) else [value] if isinstance(value, ast.expr) else []
    return available and "torch.cuda.is_available" in map(source.names.resolve_call, asked)


def _is_constant(node: ast.expr, value: bool) -> bool:
    return getattr(node, "value", None) is value


def _answers_on_npu(source: Source, compare: ast.Compare) -> bool:
    left, right = compare.left, compare.comparators[0]
    asked_node, word = (right, string_value(left)) if string_value(left) is not None else (left, string_value(right))
    device = _owner_of_type(asked_node)
    if word not in ("cuda", "cpu") or len(compare.ops) != 1 or device is None:
        return False
    return word == "cpu" or find_kinds(source, device) <= {DEVICE}


def _owner_of_type(node: ast.expr) -> ast.expr | None:
    """What `….type` is asked of, None for settings: compared with "cuda" or "cpu" it is a device."""
    if isinstance(node, ast.Attribute) and node.attr == "type" and not is_options(node.value):
        return node.value
    return None


#: Python 3.9 has no match.
MATCH, VALUE, EITHER = (getattr(ast, name, ()) for name in ("Match", "MatchValue", "MatchOr"))
NAMED = getattr(ast, "MatchAs", ())


def check_choices(source: Source) -> Findings:
    for match in source.nodes_of_type(MATCH) if MATCH else ():
        yield from _check_match(source, match)
    reported: set[ast.AST] = set()
    for table in _find_asked_tables(source):
        entry = _without_npu(source, table)
        if entry is not None and entry not in reported:
            reported.add(entry)
            yield finding_at(source, entry, "MIG104.keyed", MANUAL)


def own_text(source: Source, node: ast.expr) -> bool:
    """The type or text of a device that says npu on an NPU."""
    device = _owner_of_type(node)
    if device is not None:
        return not find_kinds(source, device) <= {DEVICE}
    return DEVICE_TEXT in find_kinds(source, node)


def _check_match(source: Source, match: Any) -> Findings:
    words = [(case, node) for case in match.cases for node in ast.walk(case.pattern) if isinstance(node, VALUE)]
    knows = any((string_value(node.value) or "").split(":")[0] == "npu" for _, node in words)
    own = own_text(source, match.subject)
    deeper = any(own_text(source, node) for node in ast.walk(match.subject) if isinstance(node, ast.expr))
    for case, node in words:
        if not DEVICE_NAME.match(string_value(node.value) or ""):
            continue
        if knows:
            yield finding_at(source, node, "MIG104.own_branch", AUTO)
        elif not deeper:
            yield finding_at(source, node, f"MIG104.{_judge_certainty(source, match.subject)}", AUTO)
        elif has_kernel(source, case.body):
            yield finding_at(source, node, "MIG104.kernels", AUTO)
        elif has_data_parallel(source, case.body):
            yield finding_at(source, node, "MIG104.data_parallel", MANUAL)
        else:
            edits = _add_npu_case(source, case, node) if own else ()
            yield finding_at(source, node, "MIG104.type", REWRITE, edits)


def _add_npu_case(source: Source, case: ast.AST, node: Any) -> tuple[Edit, ...]:
    """`case "cuda"` as `case "cuda" | "npu"`; none where it is a part of something larger."""
    within = takewhile(lambda around: around is not case, source.names.nodes_above(node))
    if not all(isinstance(around, (EITHER, NAMED)) for around in within):
        return ()
    quoted = source.text_of(node.value)
    _, end = source.span_of(node.value)
    return (Edit(end, end, f" | {quoted.replace('cuda', 'npu')}"),) if quoted[:1] in ("'", '"') else ()


def _find_asked_tables(source: Source) -> Iterator[ast.expr]:
    """What is asked with a device's type: `T[x.device.type]`, `T.get(x.device.type)`, `x.device.type in T`."""
    for node in source.nodes_of_type(ast.Subscript):
        if is_load(node) and own_text(source, node.slice):
            yield node.value
    for call in source.names.calls_by_method.get("get", ()):
        key = find_argument(call, 0)
        if key is not None and own_text(source, key):
            assert isinstance(call.func, ast.Attribute)
            yield call.func.value
    for compare in source.nodes_of_type(ast.Compare):
        among, is_in = compare.comparators[0], isinstance(compare.ops[0], (ast.In, ast.NotIn))
        if is_in and isinstance(among, (ast.Name, ast.Attribute, ast.Dict)) and own_text(source, compare.left):
            yield among


def _without_npu(source: Source, table: ast.expr) -> ast.AST | None:
    """The entry for cuda of a table that has none for npu; the table's name where another file holds it."""
    for value in _table_values(source, table):
        if isinstance(value, str) and "cuda" in source.text:
            return table
        keys = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", [])
        words = {string_value(key): key for key in keys if key is not None}
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "dict":
            words = {pair.arg: pair for pair in value.keywords}
        stored = (node for node in source.nodes_of_type(ast.Subscript) if not is_load(node))
        added = any(string_value(node.slice) == "npu" for node in stored)  # `TABLE["npu"] = ...`
        if "cuda" in words and "npu" not in words and not added:
            entry: ast.AST = words["cuda"]
            return entry
    return None


def _table_values(source: Source, table: ast.expr) -> list[Any]:
    """What the table is in this file; the name of what is imported."""
    if isinstance(table, ast.Name):
        return [value for value in source.names.bound_values(table) if value is not None]
    if not isinstance(table, ast.Attribute):
        return [table]
    in_class = (
        node for node in source.nodes_of_type(ast.Assign) if isinstance(source.names.parent_of(node), ast.ClassDef)
    )
    own = [node.value for node in in_class if table.attr in [getattr(target, "id", "") for target in node.targets]]
    return [*find_assigned_values(source, table), *own]


CODE = "MIG104"
WORDS = ("cuda", "cpu")
CUTTERS = ("strip", "lstrip", "replace", "removeprefix")
PATTERN = r"cuda|\. type\b"  # with "cpu" alone only `.type` is asked for
KNOWN = Known(MEASURED, TRANSFER, inferred=("assumed",))
DEVICE_NAME = re.compile(r"cuda(:\d*)?\Z")


def check(source: Source) -> Findings:
    for compare in source.nodes_of_type(ast.Compare):
        left, right, operator = compare.left, compare.comparators[0], compare.ops[0]
        if len(compare.ops) == 1 and isinstance(operator, (ast.Eq, ast.NotEq)):
            first = string_value(left) is not None
            yield from _check_equality(source, compare, *((right, left) if first else (left, right)))
        elif len(compare.ops) == 1 and isinstance(operator, (ast.In, ast.NotIn)):
            if string_value(left) == "cuda":  # 'cuda' in str(x.device)
                wrong = bool(find_kinds(source, right) & {DEVICE_TEXT, *OWN})
                outcome, repair = ("text", MANUAL) if wrong else (_judge_certainty(source, right), AUTO)
                yield finding_at(source, compare, f"MIG104.{outcome}", repair)
            elif (device := _owner_of_type(left)) and isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                words = [string_value(element) for element in right.elts]
                if "cuda" in words and "npu" not in words and not find_kinds(source, device) <= {DEVICE}:
                    quoted = source.text_of(right.elts[words.index("cuda")])
                    edits = behind_last(source, right, quoted.replace("cuda", "npu"))
                    yield finding_at(source, compare, "MIG104.type", REWRITE, edits)
    for name in ("startswith", *CUTTERS):
        for call in source.names.calls_by_method.get(name, ()):
            yield from (_check_startswith if name == "startswith" else _check_text_cut)(source, call)
    for flag in find_flags(source):
        yield finding_at(source, flag, "MIG104.holds", AUTO)
    yield from check_choices(source)


def _check_equality(source: Source, compare: ast.Compare, asked_node: ast.expr, value: ast.expr) -> Findings:
    word = string_value(value)
    device = _owner_of_type(asked_node)
    if word in ("cuda", "cpu") and device is not None:
        if word == "cpu" or find_kinds(source, device) <= {DEVICE}:
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


def _against_device(source: Source, compare: ast.Compare, left_side: ast.expr, right_side: ast.expr) -> Findings:
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


def _check_text_cut(source: Source, call: ast.Call) -> Findings:
    """`int(str(x.device).strip("cuda:"))`: on an NPU the text is "npu:0" and int raises."""
    above = source.names.parent_of(call)
    assert isinstance(call.func, ast.Attribute)
    text, cut = call.func.value, string_value(find_argument(call, 0)) or ""
    if not (isinstance(above, ast.Call) and getattr(above.func, "id", "") == "int" and cut.startswith("cuda")):
        return
    device = find_argument(text, 0) if isinstance(text, ast.Call) and getattr(text.func, "id", "") == "str" else None
    if getattr(device, "attr", "") == "device":
        yield finding_at(source, call, "MIG104.cut", MANUAL)


def _check_startswith(source: Source, call: ast.Call) -> Findings:
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
