"""torch._six was removed in torch 2.0: `inf` and `nan` come from math, string_classes is str."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.knowledge import MEASURED, Known
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import REWRITE, finding_at

CODE = "MIG121"
TOKENS = ("_six",)
KNOWN = Known(MEASURED, "https://github.com/pytorch/pytorch/pull/94709", versions="torch >= 2.0")


def check(source: Source) -> Iterable[Finding]:
    for node in source.nodes_of_type(ast.ImportFrom):
        if node.module == "torch._six" and not node.level:
            yield finding_at(source, node, "MIG121.removed", REWRITE, _make_import_edits(source, node))


def _make_import_edits(source: Source, node: ast.ImportFrom) -> tuple[Edit, ...]:
    start, end = source.span_of(node)
    at = source.text.find("torch._six", start, end)
    if at < 0 or not {name.name for name in node.names} <= {"inf", "nan"}:
        return ()
    return (Edit(at, at + len("torch._six"), "math"),)
