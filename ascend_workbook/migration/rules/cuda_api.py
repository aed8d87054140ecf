"""Names of torch.cuda, one by one, from the API map.

transfer_to_npu puts torch_npu.npu's attributes into torch.cuda; what has no counterpart stays and raises or
answers None. data/torch_cuda.json says which is which, measured on the 2.13.0 wheel. The submodules memory,
streams and graphs keep their own functions: torch.cuda.memory.memory_allocated() answers 0 beside an NPU.
"""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import is_load
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import (
    ADVICE,
    AUTO,
    MANUAL,
    MEASURED,
    REWRITE,
    TRANSFER,
    Findings,
    Known,
    finding_at,
)

CODE = "MIG101"
WORDS = ("cuda",)
KNOWN = Known(MEASURED, TRANSFER, hours={"absent": 8.0, "untouched": 0.0}, inferred=("unknown",))
PREFIX = "torch.cuda."
#: torch.cuda.amp has a rule of its own (amp.py).
ELSEWHERE = {"amp"}
#: Submodules whose functions are those of torch.cuda itself.
SAME_AS_ABOVE = {"memory", "random", "streams", "graphs"}
#: Those that transfer_to_npu leaves alone, and what it does replace in them.
LEFT_ALONE = {"memory", "streams", "graphs"}
REPLACED_THERE = {"_record_memory_history", "_snapshot", "_dump_snapshot", "caching_allocator_enable"}
#: torch._C's own entries are not there in a build without CUDA.
BINDINGS = ("torch._C._cuda_", "torch._C._cudart")


def check(source: Source) -> Findings:
    for node, name in source.names.whole_names:
        if name.startswith(PREFIX) and (is_load(node) or isinstance(node, ast.Attribute)):
            yield from _judge_cuda_name(source, node, name[len(PREFIX) :])
        elif name.startswith(BINDINGS):
            yield finding_at(source, node, "MIG101.binding", MANUAL, name=name)
    for attribute in source.nodes_of_type(ast.Attribute):
        if attribute.attr == "cuda_stream" and is_load(attribute) and isinstance(attribute.value, ast.Call):
            yield finding_at(source, attribute, "MIG101.stream_pointer", MANUAL)
        if attribute.attr in ("major", "minor") and _is_properties(source, attribute.value):
            yield finding_at(source, attribute, "MIG101.compute_capability", MANUAL)


def _judge_cuda_name(source: Source, node: ast.AST, name: str) -> Findings:
    parts = name.split(".")
    if parts[0] in ELSEWHERE:
        return
    if parts[0] in SAME_AS_ABOVE and len(parts) > 1:
        left_alone = parts[0] in LEFT_ALONE and parts[1] not in REPLACED_THERE
        map_entry = api_map.find_entry("torch_cuda", parts[1])
        if left_alone and map_entry and map_entry["class"] in (AUTO, ADVICE):
            edits = _drop_submodule(source, node)
            yield finding_at(source, node, "MIG101.submodule", REWRITE, edits, name=PREFIX + name)
            return
        parts = parts[1:]
    map_entry = api_map.find_entry("torch_cuda", parts[0])
    if map_entry is None:
        yield finding_at(source, node, "MIG101.unknown", MANUAL, name=PREFIX + name)
    else:
        yield finding_at(source, node, f"MIG101.{map_entry['note']}", map_entry["class"], name=PREFIX + name)


def _drop_submodule(source: Source, node: ast.AST) -> tuple[Edit, ...]:
    """`torch.cuda.memory.f` as `torch.cuda.f`; nothing where the submodule has a name of its own."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Attribute):
        return ()
    (_, start), (_, end) = source.span_of(node.value.value), source.span_of(node.value)
    return (Edit(start, end, ""),) if source.text[start:end] == f".{node.value.attr}" else ()


def _is_properties(source: Source, node: ast.expr) -> bool:
    values = source.names.bound_values(node) if isinstance(node, ast.Name) else [node]
    wanted = "torch.cuda.get_device_properties"
    return any(isinstance(value, ast.Call) and source.names.resolve_call(value) == wanted for value in values)
