"""`x.to(0)`, `x.to(args.gpu)`: a device by its number. transfer_to_npu makes `to` read it as npu:N."""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.kinds import NUMBER, OPTIONS, find_kinds
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, MEASURED, TRANSFER, Findings, Known, found_method

CODE = "MIG126"
WORDS = ("rank", "RANK", "gpu", "GPU", "cuda", "CUDA")
NEEDS = ("torch",)
#: What is plainly a type or a tensor's device is no number.
PATTERN = rf"\. to \( (?!torch\.\w+ \)|(?:\w+\.)*dtype\b|(?!(?i:{'|'.join(OPTIONS)})\.)\w+\.device\b)"
KNOWN = Known(MEASURED, TRANSFER, inferred=("number",))
NAMES = {"gpu", "gpu_id", "local_rank", "rank", "cuda_id", "device_id"}


def check(source: Source) -> Findings:
    if not any(word in source.text for word in WORDS):  # nothing says that the numbers are devices
        return
    for call in source.names.calls_by_method.get("to", ()):
        if len(call.args) == 1 and _is_number(source, call.args[0]):
            yield found_method(source, call, "MIG126.number", AUTO)


def _is_number(source: Source, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in NAMES or find_kinds(source, node) == {NUMBER}
