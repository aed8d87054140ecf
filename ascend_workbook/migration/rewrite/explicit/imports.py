"""`from torch.cuda.amp import autocast` as `from torch_npu.npu.amp import autocast`.

torch.npu is the module torch_npu.npu under another name. Imported as `torch.npu.amp`, Python would load its file
a second time, so import statements name torch_npu.npu. A statement some of whose names have no form is split.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration.reading.names import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Import, Source
from ascend_workbook.migration.repair import REWRITE, Findings, finding_at
from ascend_workbook.migration.rewrite.explicit.known import Spans, edited_finding, load_table, no_form
from ascend_workbook.migration.rewrite.explicit.names import CUDA, LAST, PROFILER, explicit_form


def check(source: Source, _: Spans) -> Findings:
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
