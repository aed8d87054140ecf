"""torch._six was removed in torch 2.0: `inf` and `nan` come from math, string_classes is str."""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MEASURED, REWRITE, Findings, Known, finding_at

CODE = "MIG121"
TOKENS = ("_six",)
KNOWN = Known(MEASURED, "https://github.com/pytorch/pytorch/pull/94709", versions="torch >= 2.0")


def check(source: Source) -> Findings:
    for node in source.nodes_of_type(ast.ImportFrom):
        if node.module == "torch._six" and not node.level:
            at = source.text.find("torch._six", *source.span_of(node))
            in_math = {name.name for name in node.names} <= {"inf", "nan"}
            edits = (Edit(at, at + len("torch._six"), "math"),) if at >= 0 and in_math else ()
            yield finding_at(source, node, "MIG121.removed", REWRITE, edits)
