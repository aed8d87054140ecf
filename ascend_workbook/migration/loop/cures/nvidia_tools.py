"""Marks and switches of NVIDIA's profilers: they change nothing of a training, and an NPU build of torch has none.

NVTX raises "NVTX functions not installed", `cudart()` is None. A call that stands alone goes, a `with` gets a context
that does nothing. torch_npu has marks of its own (`torch_npu.npu.mstx`) for who wants to see them in a profile.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import drop_statement, import_lines, look_at_error, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND

HOLDS_EVERYWHERE = True
NO_NVTX = "No module named 'nvtx'"
SOURCE = ASCEND + "torch_npu/contrib/transfer_to_npu.py"
MESSAGES = ("NVTX functions not installed", "NVTX profiler", "torch.cuda.cudart", "cudaProfilerSt", NO_NVTX)
MARKS = tuple(
    f"{module}.{name}"
    for module in ("torch.cuda.nvtx", "nvtx")
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end", "push_range", "pop_range")
    + ("start_range", "end_range")
) + ("torch.cuda.profiler.start", "torch.cuda.profiler.stop")
CONTEXTS = (
    *("torch.cuda.nvtx.range", "nvtx.annotate", "torch.cuda.profiler.profile"),
    *("torch.autograd.profiler.emit_nvtx", "torch.cuda.profiler.cudart"),
)
CUDART = "torch.cuda.cudart"
#: What a build without CUDA says of many things: of these where the line calls them.
NO_CUDA = "Torch not compiled with CUDA enabled"
WORDS = ("nvtx", "cudart", "profiler")


def knows(failure: Failure) -> bool:
    if any(message in failure.message for message in MESSAGES):
        return True
    calls = look_at_error(failure).find_nodes(ast.Call) if NO_CUDA in failure.message else ()
    return any(source.names.resolve_call(call) in (*MARKS, *CONTEXTS, CUDART) for source, call in calls)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources(*WORDS):
        edits = list(_mend_calls(source))
        if NO_NVTX in failure.message:
            edits = _drop_nvtx(source, edits)
        if any("nullcontext" in edit.text for edit in edits):
            edits.append(import_lines(source, "import contextlib"))
        yield source, edits


def _drop_nvtx(source: Source, edits: list[Edit]) -> list[Edit]:
    """The edits with the imports of nvtx; none where a use would stay, or an import that cannot go."""
    for node, name in source.names.whole_names:
        start, end = source.span_of(node)
        if name.partition(".")[0] == "nvtx" and not any(edit.start <= start and end <= edit.end for edit in edits):
            return []
    lines = [node for node in source.imports if _mentions_nvtx(node)]
    if any(not _imports_nvtx(node) for node in lines):
        return []
    return [*edits, *(replace_node(source, node, "pass") for node in lines)]


def _mend_calls(source: Source) -> Iterator[Edit]:
    for call in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(call) or ""
        if name in MARKS:
            yield drop_statement(source, call) or replace_node(source, call, "0")
        elif name == CUDART:
            statement = _find_switch(source, call)
            if statement is not None:
                yield replace_node(source, statement, "pass")
        elif name in CONTEXTS:
            above = source.names.parent_of(call)
            decorates = call in getattr(above, "decorator_list", ())
            yield replace_node(source, call, "(lambda function: function)" if decorates else "contextlib.nullcontext()")


def _find_switch(source: Source, cudart: ast.Call) -> ast.Expr | None:
    """The statement `cudart().cudaProfilerStart()`, with `check_error` around it or without; None for another."""
    attribute = source.names.parent_of(cudart)
    call = source.names.parent_of(attribute) if attribute is not None else None
    if not isinstance(attribute, ast.Attribute) or not attribute.attr.startswith("cudaProfilerSt") or call is None:
        return None
    above = source.names.parent_of(call)
    if above is not None and source.names.resolve_call(above) == "torch.cuda.check_error":
        above = source.names.parent_of(above)
    return above if isinstance(above, ast.Expr) else None


def _mentions_nvtx(node: ast.Import | ast.ImportFrom) -> bool:
    names = [name.name for name in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    level = 0 if isinstance(node, ast.Import) else node.level
    return not level and any(name.partition(".")[0] == "nvtx" for name in names)


def _imports_nvtx(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether it imports nvtx and nothing else, by names that can be followed."""
    if isinstance(node, ast.Import):
        return [name.name for name in node.names] == ["nvtx"]
    return node.module == "nvtx" and all(name.name != "*" for name in node.names)
