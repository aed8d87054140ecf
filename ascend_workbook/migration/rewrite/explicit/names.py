"""`torch.cuda.synchronize()` as `torch.npu.synchronize()`, `torch.profiler.profile` as torch_npu's, NCCL as HCCL."""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, AUTO, Findings
from ascend_workbook.migration.rewrite.explicit.known import (
    Spans,
    edited_finding,
    load_table,
    name_exists,
    no_form,
    stands_beside,
)
from ascend_workbook.migration.rules.cuda_api import ELSEWHERE, SAME_AS_ABOVE

CUDA, PROFILER = "torch.cuda", "torch.profiler"
#: The last part of a name, and its other spelling.
LAST = {"is_nccl_available": "is_hccl_available", "NCCL": "HCCL", "ProcessGroupNCCL": "ProcessGroupHCCL"}


def check(source: Source, _: Spans) -> Findings:
    for node, name in source.names.whole_names:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            continue
        if name == CUDA or name.startswith(CUDA + "."):
            yield from _rewrite_cuda_name(source, node, name)
        elif name.startswith(PROFILER + ".") and explicit_form(name):
            yield from _rewrite_profiler_name(source, node, name)
        elif name.startswith("torch.distributed.") and (last := name.rpartition(".")[2]) in LAST:
            if not explicit_form(name):
                yield no_form(source, node, name)
            elif isinstance(node, ast.Attribute):
                edits = source.replace_text(node, last, LAST[last])
                yield edited_finding(source, node, "named", edits, name, explicit_form(name))


def explicit_form(name: str) -> str:
    """Return the explicit name, or an empty string where torch_npu has none or it means something else."""
    if name == CUDA or name.startswith(CUDA + "."):
        parts = name.split(".")[2:]
        parts_told = [part for part in parts if part not in SAME_AS_ABOVE][:1]
        if parts_told and parts_told[0] not in ELSEWHERE:
            map_entry = api_map.find_entry("torch_cuda", parts_told[0])
            if map_entry is not None and map_entry["class"] not in (AUTO, ADVICE):
                return ""
        if name in load_table("other"):
            return load_table("other")[name]
        new = ".".join(("torch.npu", *parts))
        return new if name_exists(new) else ""
    if name.startswith(PROFILER + "."):
        new = f"torch_npu.profiler.{name[len(PROFILER) + 1 :]}".replace("ProfilerActivity.CUDA", "ProfilerActivity.NPU")
        return new if name_exists(new) else ""
    base, _, last = name.rpartition(".")
    return f"{base}.{LAST[last]}" if last in LAST and name_exists(f"{base}.{LAST[last]}") else ""


def _rewrite_cuda_name(source: Source, node: ast.Name | ast.Attribute, name: str) -> Findings:
    new = explicit_form(name)
    if not new:
        map_entry = api_map.find_entry("torch_cuda", name.split(".")[2])
        if map_entry is None or map_entry["class"] in (AUTO, ADVICE):  # the scan speaks of the others
            yield no_form(source, node, name)
        return
    if stands_beside(source, node, "npu") or _asked_beside(source, node):
        return
    if name in load_table("other"):
        yield from _spell_npu_name(source, node, name, new)
        return
    at = _find_name_part(source, node, CUDA)
    if at is not None:  # else an alias: its import is edited
        yield edited_finding(source, node, "named", source.replace_text(at, "cuda", "npu"), name, new)


def _spell_npu_name(source: Source, node: ast.Name | ast.Attribute, name: str, new: str) -> Findings:
    """`torch.cuda.CUDAGraph` as `torch.npu.NPUGraph`, `cuda.CUDAGraph` as `cuda.NPUGraph`: the alias is npu by now."""
    root: ast.AST = node
    while isinstance(root, ast.Attribute):
        root = root.value
    bound = source.names.resolve_name(root)
    if root is node:
        return  # the name alone: its import is edited
    base = bound.replace(CUDA, "torch.npu", 1)
    if not new.startswith(f"{base}."):
        yield no_form(source, node, name)
        return
    _, start = source.span_of(root)
    _, end = source.span_of(node)
    yield edited_finding(source, node, "named", (Edit(start, end, new[len(base) :]),), name, new)


def _rewrite_profiler_name(source: Source, node: ast.Name | ast.Attribute, name: str) -> Findings:
    edits: tuple[Edit, ...] = ()
    at = _find_name_part(source, node, PROFILER)
    if at is not None and isinstance(at.value, ast.Name):
        start, end = source.span_of(at.value)
        edits = (Edit(start, end, "torch_npu"),)
    if name.endswith("ProfilerActivity.CUDA") and isinstance(node, ast.Attribute):
        edits += source.replace_text(node, "CUDA", "NPU")
    if edits:
        yield edited_finding(source, node, "named", edits, name, explicit_form(name))


def _find_name_part(source: Source, node: ast.AST, name: str) -> ast.Attribute | None:
    """The attribute within a dotted name that stands for `name`; None where an alias does."""
    while isinstance(node, ast.Attribute):
        if source.names.resolve_name(node) == name:
            return node
        node = node.value
    return None


def _asked_beside(source: Source, node: ast.AST) -> bool:
    """`torch.cuda.is_available() or torch.npu.is_available()`: the code knows both."""
    for around in source.names.nodes_above(node):
        if isinstance(around, ast.BoolOp):
            attributes = (inner for inner in ast.walk(around) if isinstance(inner, ast.Attribute))
            return any(source.names.resolve_name(at).startswith(("torch.npu", "torch_npu")) for at in attributes)
        if isinstance(around, ast.stmt):
            return False
    return False
