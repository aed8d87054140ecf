"""`torch.cuda.synchronize()` as `torch.npu.synchronize()`, `torch.profiler.profile` as torch_npu's, NCCL as HCCL.

`from torch.cuda.amp import autocast` becomes `from torch_npu.npu.amp import autocast`: torch.npu is the module
torch_npu.npu under another name. Imported as `torch.npu.amp`, Python would load its file a second time, so import
statements name torch_npu.npu. A statement some of whose names have no form is split.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.names import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Import, Source
from ascend_workbook.migration.repair import ADVICE, AUTO, REWRITE, Findings, finding_at
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
    yield from _check_imports(source)
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


def _check_imports(source: Source) -> Findings:
    for node in source.imports:
        if TRANSFER in list_imported_names(node):
            yield _remove_import(source, node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if not f"{alias.name}.".startswith(CUDA + "."):
                    continue
                new = alias.name.replace(CUDA, "torch_npu.npu", 1) if alias.asname else "torch"
                if alias.asname and alias.name.replace(CUDA, "torch.npu", 1) not in load_table("modules"):
                    yield no_form(source, node, alias.name)
                    continue
                start, end = source.span_of(node)
                name_pattern = re.compile(rf"(?<![\w.]){re.escape(alias.name)}(?![\w.])")
                places = [match.span() for match in name_pattern.finditer(source.text, start, end)]
                edits = (Edit(*places[0], new),) if len(places) == 1 else ()
                yield edited_finding(source, node, "imported", edits, alias.name, new)
        elif not node.level and node.module:
            yield from _import_from(source, node, node.module)


def _import_from(source: Source, node: ast.ImportFrom, module: str) -> Findings:
    if module == "torch" and any(alias.name == "cuda" for alias in node.names):
        edits = _rename_imports(source, node, {"cuda": "npu"})
        yield edited_finding(source, node, "imported", edits, CUDA, "torch.npu")
    elif f"{module}.".startswith(CUDA + ".") or module == PROFILER:
        yield from _rewrite_module_import(source, node, module)
    elif module.startswith("torch.distributed") and any(alias.name in LAST for alias in node.names):
        names = {alias.name: LAST[alias.name] for alias in node.names if alias.name in LAST}
        if all(explicit_form(f"{module}.{name}") for name in names):
            edits = _rename_imports(source, node, names)
            yield edited_finding(source, node, "imported", edits, ", ".join(names), "HCCL")
        else:
            yield no_form(source, node, ", ".join(names))


def _rewrite_module_import(source: Source, node: ast.ImportFrom, module: str) -> Findings:
    if any(alias.name == "*" for alias in node.names):
        if module != PROFILER:
            yield no_form(source, node, f"{module}.*")
        return
    groups: dict[str, list[str]] = {}
    for alias in node.names:
        home, name = _home_of_name(module, alias.name)
        bound = alias.asname or alias.name
        groups.setdefault(home, []).append(name if bound == name else f"{name} as {bound}")
    if list(groups) == [module]:
        return  # the scan speaks of the names where they are used
    start, end = source.span_of(node)
    at = source.text.find(module, start, end)
    if len(groups) == 1 and all(_home_of_name(module, alias.name)[1] == alias.name for alias in node.names):
        edits = (Edit(at, at + len(module), next(iter(groups))),) if at >= 0 else ()
    else:
        text = "; ".join(f"from {home} import {', '.join(names)}" for home, names in groups.items())
        edits = (Edit(start, end, text),) if "#" not in source.text[start:end] else ()
    yield edited_finding(source, node, "imported", edits, module, ", ".join(groups))


def _home_of_name(module: str, name: str) -> tuple[str, str]:
    """The module that a name is imported from and what it is called there; where it is where nothing else has it."""
    new = explicit_form(f"{module}.{name}")
    if not new:
        return module, name
    home, _, last = new.rpartition(".")
    return re.sub(r"^torch\.npu(?=\.|$)", "torch_npu.npu", home), last


def _rename_imports(source: Source, node: ast.ImportFrom, names: dict[str, str]) -> tuple[Edit, ...]:
    """Other names for what is imported, bound to the name they had; none where the text is not plain."""
    start, end = source.span_of(node)
    edits = []
    for alias in node.names:
        if alias.name not in names:
            continue
        places = list(re.finditer(rf"(?<![\w.]){alias.name}(?![\w.])", source.text[start:end]))
        places = [match for match in places if not re.search(r"\bas\s+$", source.text[start : start + match.start()])]
        if len(places) != 1:
            return ()
        new = names[alias.name] if alias.asname else f"{names[alias.name]} as {alias.name}"
        edits.append(Edit(start + places[0].start(), start + places[0].end(), new))
    return tuple(edits)


def _remove_import(source: Source, node: Import) -> Finding:
    """The import of transfer_to_npu taken out, with its line where it stands alone."""
    start, end = source.span_of(node)
    line = source.line_starts[node.lineno - 1]
    rest = re.compile(r"[ \t]*(?:;[ \t]*)?").match(source.text, end)
    assert rest is not None
    above = source.names.parent_of(node)
    if len(node.names) > 1:
        edits: tuple[Edit, ...] = ()
    elif isinstance(above, ast.AST) and getattr(above, "body", None) == [node]:
        edits = (Edit(start, end, "pass"),)
    elif ";" in rest.group():
        edits = (Edit(start, rest.end(), ""),)
    elif source.text[line:start].strip():
        before = re.compile(r";[ \t]*$").search(source.text[line:start])
        edits = (Edit(line + before.start(), end, ""),) if before else ()
    else:
        ends = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)").match(source.text, end)
        edits = (Edit(line, ends.end(), ""),) if ends else ()
    return finding_at(source, node, "MIG138.taken_out", REWRITE, edits)
