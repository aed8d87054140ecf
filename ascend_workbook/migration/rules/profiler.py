"""torch.profiler: replaced by torch_npu.profiler, which has no key_averages() and writes other files.

The autograd profiler is not replaced: `use_device="cuda"` raises TypeError.
"""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.calls import find_argument, is_load, method_name
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND, AUTO, MANUAL, MEASURED, Findings, Known, finding_at

CODE = "MIG124"
WORDS = ("profiler",)
NEEDS = ("torch",)
PATTERN = r"\b(?:profile|schedule|tensorboard_trace_handler|ProfilerActivity|emit_nvtx)\b"
KNOWN = Known(MEASURED, ASCEND + "docs/zh/developer_notes/ascend_pytorch_profiler_user_guide.md")
REPLACED = {
    f"torch.profiler.{name}" for name in ("profile", "schedule", "tensorboard_trace_handler", "ProfilerActivity.CUDA")
}
#: For NVIDIA's own profilers: entering it raises where torch has no NVTX.
EMIT = "torch.autograd.profiler.emit_nvtx"


def check(source: Source) -> Findings:
    used = False
    for node, name in source.names.named_nodes:
        if name in REPLACED and is_load(node):
            used = True
            yield finding_at(source, node, "MIG124.replaced", AUTO)
    for call in source.nodes_of_type(ast.Call):
        if used and method_name(call) == "key_averages":
            yield finding_at(source, call, "MIG124.key_averages", MANUAL)
        elif source.names.resolve_call(call) == EMIT or (
            source.names.resolve_call(call) == "torch.autograd.profiler.profile"
            and (find_argument(call, 1, "use_cuda") or find_argument(call, 99, "use_device"))
        ):
            yield finding_at(source, call, "MIG124.autograd", MANUAL)
