"""Kernels that torch.compile generates need triton, which is not here (NPUs have triton-ascend): graphs run plain.

The rewrite sees to `torch.compile(...)`; a module's own `compile()` and the option of a Trainer are left to this.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_true, keyword_of, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.calls import append_argument, method_name
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://pypi.org/project/triton-ascend/"
HOLDS_EVERYWHERE = True
MESSAGES = ("BackendCompilerFailed", "InductorError", "get_gpu_type", "TritonMissing", "Cannot find a working triton")


def knows(failure: Failure) -> bool:
    return any(message in failure.text for message in MESSAGES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("compile"):
        edits: list[Edit] = []
        for call in source.nodes_of_type(ast.Call):
            alone = isinstance(source.names.parent_of(call), ast.Expr)
            if method_name(call) == "compile" and alone and not call.args and keyword_of(call, "backend") is None:
                edits += append_argument(source, call, 'backend="eager"')
        for pair in source.nodes_of_type(ast.keyword):
            if pair.arg == "torch_compile" and is_true(pair.value):
                edits.append(replace_node(source, pair.value, "False"))
        yield source, edits
