"""NCCL in every spelling.

transfer_to_npu replaces "nccl" by "hccl" in init_process_group and new_group, in lower case only. The value
itself stays: get_backend() answers "hccl", an argument still says "nccl".
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.calls import (
    behind_last,
    in_both,
    is_docstring,
    only_names,
    string_value,
    within_string,
)
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, MEASURED, REWRITE, TRANSFER, Findings, Known, finding_at

CODE = "MIG106"
WORDS = ("nccl", "NCCL", "Nccl")
KNOWN = Known(MEASURED, TRANSFER)
BACKEND = re.compile(r"(nccl|cpu:gloo,cuda:nccl|cuda:nccl,cpu:gloo|cuda:nccl)\Z")
GROUPS = ("init_process_group", "new_group", "new_subgroups")


def check(source: Source) -> Findings:
    for node in source.nodes_of_type(ast.Constant):
        text = string_value(node)
        if not text or not any(word in text for word in WORDS):
            continue
        if not is_docstring(source, node) and not only_names(source, node):
            yield from _judge_backend_string(source, node, text)
    for named, name in source.names.named_nodes:
        if isinstance(named, ast.Attribute) and name.startswith("torch.distributed.") and "nccl" in named.attr.lower():
            above = source.names.parent_of(named)
            if isinstance(above, ast.Compare) and named.attr == "NCCL":  # still "nccl"; get_backend() says "hccl"
                yield from _check_compared_backend(source, above, named)
            elif named.attr != "is_nccl_available":  # calls.py
                yield finding_at(source, named, "MIG106.replaced", AUTO)


def _judge_backend_string(source: Source, node: ast.Constant, text: str) -> Findings:
    above = source.names.parent_of(node)
    if isinstance(above, ast.Compare) and text == "nccl":
        yield from _check_compared_backend(source, above, node)
    elif isinstance(above, (ast.Call, ast.keyword)) or (isinstance(above, ast.IfExp) and text != text.lower()):
        yield from _check_backend_argument(source, node, text)
    elif BACKEND.match(text):
        among = above if isinstance(above, (ast.Tuple, ast.List, ast.Set)) else None
        if among and "hccl" in map(string_value, among.elts):
            return  # `backend in ("nccl", "hccl")` is already right
        compare = source.names.parent_of(among) if among else None
        if among and text == "nccl" and isinstance(compare, ast.Compare):
            mark = source.text_of(node)[:1]
            edits = behind_last(source, among, f"{mark}hccl{mark}") if mark in ("'", '"') else ()
            yield finding_at(source, compare, "MIG106.compared", REWRITE, edits)
        else:
            yield finding_at(source, node, "MIG106.replaced", AUTO)


def _check_backend_argument(source: Source, node: ast.Constant, text: str) -> Findings:
    call = next((up for up in source.names.nodes_above(node) if isinstance(up, ast.Call)), None)
    if call is None:
        return
    name = source.names.resolve_call(call).rsplit(".", 1)[-1] or getattr(call.func, "attr", "")
    if name in GROUPS and text != text.lower() and BACKEND.match(text.lower()):
        wrong = re.search("nccl", text, re.IGNORECASE)
        assert wrong is not None
        edits = within_string(source, node, wrong.group(), "nccl")
        yield finding_at(source, node, "MIG106.upper_case", REWRITE, edits)
    elif BACKEND.match(text):
        yield finding_at(source, node, "MIG106.replaced", AUTO)


def _check_compared_backend(source: Source, compare: ast.Compare, node: ast.Constant | ast.Attribute) -> Findings:
    asked_node = compare.comparators[0] if compare.left is node else compare.left
    name = source.names.resolve_name(asked_node)
    if string_value(asked_node) is not None or name.startswith("torch.distributed.Backend."):
        yield finding_at(source, compare, "MIG106.replaced", AUTO)  # two constants
        return
    quoted = source.text_of(node)
    if isinstance(node, ast.Attribute):
        mark, plain = '"', not any(isinstance(up, ast.JoinedStr) for up in source.names.nodes_above(node))
    else:
        mark, plain = quoted[:1], quoted[:1] in ("'", '"')
    edits = in_both(source, compare, node, f"({quoted}, {mark}hccl{mark})") if plain else ()
    yield finding_at(source, compare, "MIG106.compared", REWRITE, edits)
