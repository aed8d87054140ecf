"""torch.jit.script: transfer_to_npu switches it off and returns the function or module as it is.

What only a ScriptModule has (save, freeze, its graph) then raises; torch.jit.trace is left alone and works.
"""

from __future__ import annotations

import ast

from ascend_workbook.migration.reading.calls import find_argument, is_load, method_name
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, MANUAL, MEASURED, TRANSFER, Findings, Known, finding_at

CODE = "MIG118"
TOKENS = ("script", "script_method")
NEEDS = ("torch",)
PATTERN = r"\bjit\b"
KNOWN = Known(MEASURED, TRANSFER, hours={"needs_script": 0.5})
NAMES = {"torch.jit.script", "torch.jit.script_method"}
#: Functions and methods that take a ScriptModule only.
TAKERS = {"torch.jit.save", "torch.jit.freeze", "torch.jit.optimize_for_inference"}
METHODS = {"save", "save_to_buffer"}


def check(source: Source) -> Findings:
    used = False
    for node, name in source.names.named_nodes:
        if name in NAMES and is_load(node):
            used = True
            yield finding_at(source, node, "MIG118.disabled", ADVICE)
    for call in source.nodes_of_type(ast.Call) if used else ():
        name = source.names.resolve_call(call)
        module_node = find_argument(call, 0, "m") if name in TAKERS else None
        if method_name(call) in METHODS and not name and isinstance(call.func, ast.Attribute):
            module_node = call.func.value
        if module_node is not None and _is_scripted(source, module_node):
            yield finding_at(source, call, "MIG118.needs_script", MANUAL, name=name or method_name(call))


def _is_scripted(source: Source, node: ast.expr) -> bool:
    """The call of torch.jit.script itself, or a name that was given one and nothing else."""
    if isinstance(node, ast.Name):
        values = source.names.bound_values(node)
        calls = [value for value in values if isinstance(value, ast.Call) and source.names.resolve_call(value) in NAMES]
        return bool(values) and calls == values
    return source.names.resolve_call(node) in NAMES
