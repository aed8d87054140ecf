"""Error messages asked for the word CUDA: `"CUDA out of memory" in str(e)`. torch_npu says "NPU out of memory"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import ASCEND, MEASURED, Known
from helpers.migration.reading.calls import within_string
from helpers.migration.reading.source import Source
from helpers.migration.repair import REWRITE, found

CODE = "MIG139"
WORDS = ("CUDA ", "cuda ", "CUDNN_", "CUBLAS_")
KNOWN = Known(MEASURED, ASCEND + "torch_npu/csrc/core/npu/NPUCachingAllocator.cpp", hours={"message": 0.1})
PATTERN = r"(?:CUDA|cuda) (?:out of memory|error)|CUDNN_STATUS|CUBLAS_STATUS"
MESSAGE = re.compile(r"(CUDA|cuda) (out of memory|error)|CUDNN_STATUS|CUBLAS_STATUS")
EXAMPLES = (
    (
        "try:\n    step()\nexcept E as e:\n    if 'CUDA out of memory. ' not in str(e):  # 显存\n        raise\n",
        "rewrite",
        "try:\n    step()\nexcept E as e:\n    if 'out of memory. ' not in str(e):  # 显存\n        raise\n",
    ),
    ("again = 'CUDA error: device-side assert' in message\n", "manual", None),
    ("again = e.args[0].startswith('CUDA out of memory')\n", "manual", None),
)
NEAR_MISSES = (
    "if 'out of memory' in str(e):  # 显存\n    pass\n",
    "print('CUDA out of memory, try again')\n",
    "if 'cuda' in name:\n    pass\n",
    "raise RuntimeError('CUDA error')\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node, text in source.strings:
        if not MESSAGE.match(text):
            continue
        above = source.names.parent(node)
        if isinstance(above, ast.Compare) and isinstance(above.ops[0], (ast.In, ast.NotIn)) and above.left is node:
            yield found(source, node, "MIG139.message", REWRITE, _edits(source, node, text))
        elif isinstance(above, ast.Call) and getattr(above.func, "attr", "") in (
            "startswith",
            "find",
            "match",
            "search",
        ):
            yield found(source, node, "MIG139.message", REWRITE)


def _edits(source: Source, node: ast.Constant, text: str) -> tuple[Edit, ...]:
    """Without its first word the message of an NPU is found too; other messages differ as a whole."""
    return within_string(source, node, text[:5], "") if text[5:].startswith("out of memory") else ()
