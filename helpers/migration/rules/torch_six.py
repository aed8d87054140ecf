"""torch._six was removed in torch 2.0: `inf` and `nan` come from math, string_classes is str."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import MEASURED, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import REWRITE, found

CODE = "MIG121"
TOKENS = ("_six",)
KNOWN = Known(MEASURED, "https://github.com/pytorch/pytorch/pull/94709", versions="torch >= 2.0")
EXAMPLES = (
    ("from torch._six import inf  # 无穷\n", "rewrite", "from math import inf  # 无穷\n"),
    ("from torch._six import string_classes\n", "manual", None),
)
NEAR_MISSES = ("from math import inf  # 无穷\n", "import six\n")


def check(source: Source) -> Iterable[Finding]:
    for node in source.nodes(ast.ImportFrom):
        if node.module == "torch._six" and not node.level:
            yield found(source, node, "MIG121.removed", REWRITE, _edits(source, node))


def _edits(source: Source, node: ast.ImportFrom) -> tuple[Edit, ...]:
    start, end = source.span(node)
    at = source.text.find("torch._six", start, end)
    if at < 0 or not {name.name for name in node.names} <= {"inf", "nan"}:
        return ()
    return (Edit(at, at + len("torch._six"), "math"),)
