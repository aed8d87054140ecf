"""`.cuda(...)` on tensors and modules.

transfer_to_npu makes it `.npu(...)`, and that takes nothing or a number. `Module.npu` calls
torch.device("npu", device), so a string or a torch.device raises TypeError (torch_npu/utils/_module.py);
`Tensor.npu` answers "Invalid device, must be npu device". `.to(...)` takes them all.
"""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.calls import find_argument
from ascend_workbook.migration.reading.kinds import NUMBER, STRING, UNKNOWN, about_devices, find_kinds
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND, AUTO, MEASURED, REWRITE, Findings, Known, found_method

CODE = "MIG103"
TOKENS = ("cuda",)
KNOWN = Known(MEASURED, ASCEND + "torch_npu/utils/_module.py")


def check(source: Source) -> Findings:
    for call in source.names.calls_by_method.get("cuda", ()):
        if not source.names.resolve_name(call.func).startswith("torch."):
            yield from _judge_cuda_method(source, call)


def _judge_cuda_method(source: Source, call: ast.Call) -> Findings:
    assert isinstance(call.func, ast.Attribute)
    target = find_argument(call, 0, "device")
    if target is None or not _may_be_device(source, target):
        yield found_method(source, call, "MIG103.moved", AUTO)
        return
    edits = source.replace_text(call.func, "cuda", "to")
    if edits and len(call.args) > 1:
        start, _ = source.span_of(call.args[1])
        edits = (*edits, Edit(start, start, "non_blocking="))
    if len(call.args) > 2:  # Tensor.to has no third positional argument that means the same
        edits = ()
    yield found_method(source, call, "MIG103.takes_number", REWRITE, edits)


def _may_be_device(source: Source, target: ast.expr) -> bool:
    """A device or a string for sure, or unknown and named like one; `.to` is right for numbers too."""
    if isinstance(target, ast.Constant) and target.value is None:
        return False
    held = find_kinds(source, target)
    if held <= {NUMBER, UNKNOWN}:
        return held == {UNKNOWN} and about_devices(target)
    return bool(held - {NUMBER, UNKNOWN}) or STRING in held
