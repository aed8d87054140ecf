"""A fused optimizer under a GradScaler, or fused SGD without momentum: torch_npu's scaler and kernel take neither.

The scaler of torch_npu hands itself to `step` of an optimizer that scales by itself, which PyTorch's own no longer
takes; and the fused SGD of an NPU wants a momentum above 0. The same optimizer that is not fused computes the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_handed_on, last_name, replace_node
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
#: How the names of optimizers' classes end.
OPTIMIZERS = (
    *("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "Adafactor", "SGD", "RMSprop", "Optimizer"),
    *("Lion", "Lamb", "LAMB", "LBFGS"),
)


def knows(failure: Failure) -> bool:
    return any(message in failure.message for message in MESSAGES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("fused"):
        edits = [replace_node(source, value, "False") for value in _find_switches(source)]
        for node, text in source.strings:
            if text in NAMED and is_handed_on(source, node):
                edits.append(replace_node(source, node, repr(NAMED[text]).replace("'", '"')))
        yield source, edits


def _find_switches(source: Source) -> Iterator[ast.expr]:
    """`fused=True` of an optimizer, and of a table that is handed to one; a value that may be True too."""
    optimizers = [call for call in source.nodes_of_type(ast.Call) if _makes_optimizer(source, call)]
    pairs = [pair for call in optimizers for pair in call.keywords]
    yield from (pair.value for pair in pairs if pair.arg == "fused" and not _is_off(pair.value))
    tables = [pair.value for pair in pairs if pair.arg is None]
    names = {source.text_of(table) for table in tables}
    for assign in source.nodes_of_type(ast.Assign):
        for target in assign.targets:
            if source.text_of(target) in names:
                tables.append(assign.value)
            elif _is_switch_of(source, target, names) and not _is_off(assign.value):
                yield assign.value
    for table in tables:
        yield from _find_in_table(table)


def _is_switch_of(source: Source, target: ast.expr, names: set[str]) -> bool:
    if not isinstance(target, ast.Subscript) or string_value(target.slice) != "fused":
        return False
    return source.text_of(target.value) in names


def _makes_optimizer(source: Source, call: ast.Call) -> bool:
    """`torch.optim.AdamW(...)`, `getattr(torch.optim, name)(...)`, `partial(AdamW, ...)`, `MyAdam(...)`."""
    called = call.args[0] if last_name(call.func) == "partial" and call.args else call.func
    if any(source.names.resolve_name(node).startswith("torch.optim.") for node in ast.walk(called)):
        return True
    of_torch = (source.names.resolve_name(node) == "torch.optim" for node in ast.walk(called))
    return last_name(called).endswith(OPTIMIZERS) or (isinstance(called, ast.Call) and any(of_torch))


def _find_in_table(table: ast.expr) -> Iterator[ast.expr]:
    """`{"fused": True}` and `dict(fused=True)`, in both arms of a choice."""
    if isinstance(table, ast.IfExp):
        yield from (*_find_in_table(table.body), *_find_in_table(table.orelse))
    elif isinstance(table, ast.Dict):
        pairs = zip(table.keys, table.values)
        yield from (value for key, value in pairs if string_value(key) == "fused" and not _is_off(value))
    elif isinstance(table, ast.Call) and last_name(table.func) == "dict":
        yield from (pair.value for pair in table.keywords if pair.arg == "fused" and not _is_off(pair.value))


def _is_off(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
