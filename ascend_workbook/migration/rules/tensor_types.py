"""Types named by string: `x.type("torch.cuda.FloatTensor")` raises under transfer_to_npu, the class works.

torch.cuda.DoubleTensor becomes torch.npu.FloatTensor: silently single precision.
"""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.calls import method_name, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MANUAL, MEASURED, REWRITE, TRANSFER, Findings, Known, finding_at

CODE = "MIG122"
WORDS = ("torch.cuda.", "set_default_tensor_type")
PATTERN = r"torch\.cuda\.\w*Tensor|set_default_tensor_type"
KNOWN = Known(MEASURED, TRANSFER)
PREFIX = "torch.cuda."
DEFAULT = "set_default_tensor_type"


def check(source: Source) -> Findings:
    if DEFAULT not in source.text and not any(map(_is_type, (text for _, text in source.strings))):
        return
    for call in source.nodes_of_type(ast.Call):
        name = call.args[0] if call.args else None
        text = string_value(name)
        sets_default = DEFAULT in (method_name(call), getattr(call.func, "id", ""))
        if sets_default and (_is_type(text) or source.names.resolve_name(name or call).startswith(PREFIX)):
            yield finding_at(source, call, "MIG122.default", MANUAL)
        elif name is None or text is None or not _is_type(text):
            continue
        elif text.endswith("DoubleTensor"):
            yield finding_at(source, call, "MIG122.default", MANUAL)
        elif method_name(call) == "type":
            yield finding_at(source, call, "MIG122.by_string", REWRITE, _make_type_edits(source, call, name, text))
    for compare in source.nodes_of_type(ast.Compare):
        sides = (compare.left, *compare.comparators)
        asked = (inner for side in sides for inner in getattr(side, "elts", [side]))
        if any(_is_type(string_value(inner)) for inner in asked):
            yield finding_at(source, compare, "MIG122.asked", MANUAL)


def _is_type(text: str | None) -> bool:
    return text is not None and text.startswith(PREFIX) and text.endswith("Tensor")


def _make_type_edits(source: Source, call: ast.Call, name: ast.expr, text: str) -> tuple[Edit, ...]:
    """Without its quotes the string is the class, where `torch` means torch."""
    start, end = source.span_of(name)
    inside = next((node for node in ast.walk(call) if isinstance(node, ast.Name)), None)
    torch_here = inside is not None and set(source.names.bound_at("torch", inside)) == {"torch"}
    return (Edit(start, end, text),) if torch_here and source.text[start + 1 : end - 1] == text else ()
