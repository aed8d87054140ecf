"""A fused optimizer under a GradScaler, or fused SGD without momentum: torch_npu's scaler and kernel take neither.

The scaler of torch_npu hands itself to `step` of an optimizer that scales by itself, which PyTorch's own no longer
takes; and the fused SGD of an NPU wants a momentum above 0. The same optimizer that is not fused computes the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND

SOURCE = ASCEND + "torch_npu/npu/amp/grad_scaler.py"
HOLDS_EVERYWHERE = True
MESSAGES = (
    *("unexpected keyword argument 'grad_scaler'", "momentum must be positive", "`fused=True` requires"),
    *("_fused_adam", "_fused_sgd", "_fused_adagrad", "fused_adam_kernel"),
)
#: Names of the transformers' Trainer.
NAMED = {"adamw_torch_fused": "adamw_torch"}


def knows(failure: Failure) -> bool:
    return any(message in failure.text for message in MESSAGES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("fused"):
        edits = [replace_node(source, value, "False") for value in _find_switches(source)]
        for node, text in source.strings:
            if text in NAMED and string_value(node) == text:
                edits.append(replace_node(source, node, repr(NAMED[text]).replace("'", '"')))
        yield source, edits


def _find_switches(source: Source) -> Iterator[ast.expr]:
    """`fused=True` of a call, `{"fused": True}`, `options["fused"] = True`; a value that may be True too."""
    for pair in source.nodes_of_type(ast.keyword):
        if pair.arg == "fused" and not _is_off(pair.value):
            yield pair.value
    for table in source.nodes_of_type(ast.Dict):
        for key, value in zip(table.keys, table.values):
            if string_value(key) == "fused" and not _is_off(value):
                yield value
    for assign in source.nodes_of_type(ast.Assign):
        target = assign.targets[0]
        if isinstance(target, ast.Subscript) and string_value(target.slice) == "fused" and not _is_off(assign.value):
            yield assign.value


def _is_off(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
