"""float64 on the device. HCCL refuses it in collectives (ProcessGroupHCCL.cpp, all but Ascend 950), and many
kernels have no double: torch_npu casts or raises."""

from __future__ import annotations

import ast
import re

from ascend_workbook.migration.reading.calls import find_argument, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, ASCEND, DOCUMENTED, MANUAL, REWRITE, Findings, Known, finding_at

CODE = "MIG115"
TOKENS = ("float64", "double")
NEEDS = ("torch",)
#: Named in code, and beside it what makes it matter.
PATTERN = (
    r"\A(?=[\s\S]*?(?:\.|\bimport|[,(]) (?:double|float64)\b)"
    r"(?=[\s\S]*?(?:\. double \( \)|\bset_default_dtype\b|\bdevice =))"
)
KNOWN = Known(DOCUMENTED, ASCEND + "torch_npu/csrc/distributed/ProcessGroupHCCL.cpp", inferred=("kernel",))
DOUBLE = {"torch.float64", "torch.double"}
COLLECTIVES = {"all_reduce", "reduce", "all_gather", "broadcast", "reduce_scatter", "all_gather_into_tensor"}
#: Words of names and keys for a time of day.
OF_TIME = re.compile(r"(?:^|_)(?:time|timestamps?|start|now|clock)(?:_|$)", re.IGNORECASE)


def check(source: Source) -> Findings:
    for call in source.names.calls_by_name.get("torch.set_default_dtype", ()):
        if call.args and source.names.resolve_name(call.args[0]) in DOUBLE:
            yield finding_at(source, call, "MIG115.default", MANUAL)
    for call in source.names.calls_by_keyword.get("dtype", ()):
        dtype = find_argument(call, 99, "dtype")
        if dtype is not None and source.names.resolve_name(dtype) in DOUBLE:
            yield from _check_made_tensor(source, call, dtype)
    for call in source.names.calls_by_method.get("double", ()):
        if not call.args and not source.names.resolve_call(call).startswith(("numpy.", "torch.")):
            yield finding_at(source, call, "MIG115.kernel", ADVICE)


def _check_made_tensor(source: Source, call: ast.Call, dtype: ast.expr) -> Findings:
    device = find_argument(call, 99, "device")
    if device is None or (string_value(device) or "").startswith("cpu"):
        return
    if _is_reduced(source, call) and _needs_digits(source, call):
        yield finding_at(source, dtype, "MIG115.digits", MANUAL)
    elif _is_reduced(source, call):
        edits = source.replace_text(dtype, "float64", "float32") or source.replace_text(dtype, "double", "float32")
        yield finding_at(source, dtype, "MIG115.collective", REWRITE, edits)
    else:
        yield finding_at(source, dtype, "MIG115.kernel", ADVICE)


def _needs_digits(source: Source, call: ast.Call) -> bool:
    """A time of day: seconds since 1970 are told to 128 s in float32."""
    held = [inner for value in call.args for inner in ast.walk(value)]
    bound = [value for name in held if isinstance(name, ast.Name) for value in source.names.bound_values(name)]
    held += [inner for value in bound if isinstance(value, ast.expr) for inner in ast.walk(value)]
    words = (getattr(node, "id", "") or getattr(node, "attr", "") or string_value(node) or "" for node in held)
    return any(OF_TIME.search(word) for word in words)


def _is_reduced(source: Source, call: ast.Call) -> bool:
    """The tensor's name is handed to a collective in the same function."""
    above = source.names.parent_of(call)
    targets = above.targets if isinstance(above, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    inside = source.names.enclosing_function(call)
    for other in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(other)
        if name.startswith("torch.distributed.") and name.rsplit(".", 1)[-1] in COLLECTIVES:
            given_names = {getattr(inner, "id", "") for value in other.args for inner in ast.walk(value)}
            if names & given_names and source.names.enclosing_function(other) is inside:
                return True
    return False
