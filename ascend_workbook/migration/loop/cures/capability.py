"""`torch.cuda.get_device_capability()` answers None on an NPU: who unpacks or indexes it raises."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import replace_node, walk_calls
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND

SOURCE = ASCEND + "torch_npu/npu/__init__.py"
NAMES = ("torch.cuda.get_device_capability", "torch.cuda.device.get_device_capability")
MESSAGES = ("NoneType",)
#: What code that asks for it takes for the least that has bfloat16 and no tensor cores of its own.
INSTEAD = "(8, 0)"


def knows(failure: Failure) -> bool:
    calls = [source.names.resolve_call(node) for source, node in failure.find_nodes(ast.Call)]
    return any(message in failure.message for message in MESSAGES) and any(name in NAMES for name in calls)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source, call in walk_calls(failure, *NAMES):
        above = source.names.parent_of(call)
        if not isinstance(above, ast.BoolOp):
            yield source, [replace_node(source, call, f"({source.text_of(call)} or {INSTEAD})")]
