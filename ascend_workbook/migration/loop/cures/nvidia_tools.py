"""Marks and switches of NVIDIA's profilers: they change nothing of a training, and an NPU build of torch has none.

NVTX raises "NVTX functions not installed", `cudart()` is None. A call that stands alone goes, a `with` gets a context
that does nothing. torch_npu has marks of its own (`torch_npu.npu.mstx`) for who wants to see them in a profile.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import drop_statement, import_lines, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND

HOLDS_EVERYWHERE = True
SOURCE = ASCEND + "torch_npu/contrib/transfer_to_npu.py"
MESSAGES = ("NVTX functions not installed", "torch.cuda.cudart", "cudaProfilerSt", "No module named 'nvtx'", "nvtx")
MARKS = tuple(
    f"{module}.{name}"
    for module in ("torch.cuda.nvtx", "nvtx")
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end", "push_range", "pop_range")
    + ("start_range", "end_range")
) + ("torch.cuda.profiler.start", "torch.cuda.profiler.stop", "torch.cuda.check_error")
CONTEXTS = (
    *("torch.cuda.nvtx.range", "nvtx.annotate", "torch.cuda.profiler.profile"),
    *("torch.autograd.profiler.emit_nvtx", "torch.cuda.profiler.cudart"),
)
CUDART = "torch.cuda.cudart"
WORDS = ("nvtx", "cudart", "profiler")


def knows(failure: Failure) -> bool:
    return any(message in failure.text for message in MESSAGES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources(*WORDS):
        edits = list(_mend_calls(source))
        if any("nullcontext" in edit.text for edit in edits):
            edits.append(import_lines(source, "import contextlib"))
        if edits and "No module named 'nvtx'" in failure.message:
            edits += [replace_node(source, node, "pass") for node in source.imports if _imports_nvtx(node)]
        yield source, edits


def _mend_calls(source: Source) -> Iterator[Edit]:
    for call in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(call) or ""
        if name in MARKS:
            yield drop_statement(source, call) or replace_node(source, call, "0")
        elif name == CUDART:
            statement = next((up for up in source.names.nodes_above(call) if isinstance(up, ast.stmt)), None)
            if isinstance(statement, ast.Expr):
                yield replace_node(source, statement, "pass")
        elif name in CONTEXTS:
            above = source.names.parent_of(call)
            decorates = call in getattr(above, "decorator_list", ())
            yield replace_node(source, call, "(lambda function: function)" if decorates else "contextlib.nullcontext()")


def _imports_nvtx(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names] == ["nvtx"]
    return node.module == "nvtx"
