"""Error messages asked for the word CUDA: `"CUDA out of memory" in str(e)`. torch_npu says "NPU out of memory"."""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.calls import within_string
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND, MEASURED, REWRITE, Findings, Known, finding_at

CODE = "MIG139"
WORDS = ("CUDA ", "cuda ", "CUDNN_", "CUBLAS_")
KNOWN = Known(MEASURED, ASCEND + "torch_npu/csrc/core/npu/NPUCachingAllocator.cpp", hours={"message": 0.1})
PATTERN = r"(?:CUDA|cuda) (?:out of memory|error)|CUDNN_STATUS|CUBLAS_STATUS"
SEARCHES = ("startswith", "find", "match", "search")
MESSAGE = re.compile(r"(CUDA|cuda) (out of memory|error)|CUDNN_STATUS|CUBLAS_STATUS")


def check(source: Source) -> Findings:
    for node, text in source.strings:
        if not MESSAGE.match(text):
            continue
        above = source.names.parent_of(node)
        if isinstance(above, ast.Compare) and isinstance(above.ops[0], (ast.In, ast.NotIn)) and above.left is node:
            # without its first word the message of an NPU is found too; other messages differ as a whole
            edits = within_string(source, node, text[:5], "") if text[5:].startswith("out of memory") else ()
            yield finding_at(source, node, "MIG139.message", REWRITE, edits)
        elif isinstance(above, ast.Call) and getattr(above.func, "attr", "") in SEARCHES:
            yield finding_at(source, node, "MIG139.message", REWRITE)
