"""Megatron's `fused_kernels.load` asks CUDA's nvcc for its version: without a CUDA toolkit it has nothing to load.

In the cores 0.8 to 0.12 the function compiles nothing any more, it only asks; MindSpeed's adaptor leaves it out on an
NPU. The call is made where there is a CUDA toolkit, so that a CPU and a GPU both train as before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

HOLDS_EVERYWHERE = True
#: Megatron-LM's core_r0.8.0.
SOURCE = (
    "https://github.com/NVIDIA/Megatron-LM/blob/baf94af3c667248865f23df73b9fb8e2395e6fd0/"
    "megatron/legacy/fused_kernels/__init__.py"
)
ASKS = "_get_cuda_bare_metal_version"
#: What the module itself imports and asks.
TOOLKIT = "if fused_kernels.cpp_extension.CUDA_HOME is not None:"


def knows(failure: Failure) -> bool:
    return ASKS in failure.trace and ("NoneType" in failure.message or "nvcc" in failure.message)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for spot in failure.spots:
        source = failure.read(spot.name)
        if source is None or "fused_kernels.load(" not in source.text or TOOLKIT in source.text:
            continue
        yield source, list(_guard_calls(source))


def _guard_calls(source: Source) -> Iterator[Edit]:
    for call in source.nodes_of_type(ast.Call):
        alone = isinstance(source.names.parent_of(call), ast.Expr)
        start, end = source.span_of(call)
        indent = source.text[source.line_starts[call.lineno - 1] : start]
        if alone and not indent.strip() and source.text_of(call.func) == "fused_kernels.load":
            step = "\t" if "\t" in indent else "    "
            text = source.text[start:end]
            yield replace_node(source, call, f"{TOOLKIT}{source.line_end}{indent}{step}{text}")
