"""Libraries that bring GPU code of their own, from data/third_party.json: the imports and what is done with them.

A framework (mmcv, detectron2) is one decision, said at its imports; Megatron's lines stay as they are behind the one
that has to be added, so it is said once, and not where MIG330 adds it. A library of kernels or optimisers is said
where it is imported and where the script uses it: there the script has to change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import dynamic_module, is_load, list_modules
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, BY_ENTRY, DOCUMENTED, Findings, Known, finding_at
from ascend_workbook.migration.rules.calls import LIBRARIES as ASKING_NVIDIA
from ascend_workbook.migration.rules.megatron import ADAPTOR, needs_adaptor

CODE = "MIG113"
BASIS = "entries"
#: Methods of other libraries that need one of these.
METHODS = dict.fromkeys(
    ("enable_xformers_memory_efficient_attention", "set_use_memory_efficient_attention_xformers"), "xformers"
)
#: Flash attention's functions, kept under a name that the file gave them: `self.flash_attn_func = getattr(f, ...)`.
KEPT = {"flash_attn_func", "flash_attn_varlen_func", "flash_attn_qkvpacked_func", "flash_attn_with_kvcache"}
#: Classes of Lightning that stand for one of these.
PLUGINS = {"BitsandbytesPrecision": "bitsandbytes", "TransformerEnginePrecision": "transformer_engine"}
LIBRARIES = {name.split(".")[0] for name in api_map.load_map("third_party")["names"]}
TOKENS = LIBRARIES | {*METHODS, *PLUGINS, *KEPT}
#: Imported, by a statement or by name; a library that is only spoken of is none of this rule's.
PATTERN = (
    rf"(?:\b(?:import|from)|,) (?:{'|'.join(sorted(LIBRARIES))})\b|import_module|__import__"
    rf"|{'|'.join(sorted({*METHODS, *PLUGINS, *KEPT}))}"
)
#: Each entry brings its own link.
KNOWN = Known(DOCUMENTED, None, versions=BY_ENTRY, hours={"use": 0.5})
ELSEWHERE = {"triton"}  # triton.py
#: One decision for the whole project; their calls are ordinary ones.
WHOLE = set(api_map.list_names("whole_libraries"))


def check(source: Source) -> Findings:
    imports = source.nodes_of_type(ast.Import)
    adapted = needs_adaptor(source) or any(ADAPTOR in list_modules(node) for node in imports)
    reported_libraries: set[str] = set()
    for node in sorted(source.imports, key=lambda node: node.lineno):
        for library in dict.fromkeys(filter(None, map(_library_of_module, list_modules(node)))):
            if not _is_wanted(source, library) or (library == "megatron" and adapted):
                continue
            if library != "megatron" or library not in reported_libraries:
                reported_libraries.add(library)
                yield _report_library(source, node, library, "library")
    yield from _check_library_uses(source)
    yield from _check_dynamic_uses(source)


def _report_library(source: Source, node: ast.AST, library: str, outcome: str) -> Finding:
    entry = api_map.find_entry("third_party", library)
    assert entry is not None
    alternative = api_map.describe_alternative(entry)
    return finding_at(source, node, f"MIG113.{outcome}", entry["class"], library=library, **alternative)


def _check_library_uses(source: Source) -> Iterator[Finding]:
    """Calls, decorators, base classes and other names given to what a library has; once a line."""
    imported = TOKENS & {module.split(".")[0] for node in source.imports for module in list_modules(node)}
    seen: set[tuple[int, str]] = set()
    named = [*source.names.named_nodes, *_imported_twice(source)] if imported else []
    for node, name in named:
        first, dot, _ = name.partition(".")
        library = _library_of_module(name) if dot and first in imported and first not in ASKING_NVIDIA else ""
        entry = api_map.find_entry("third_party", library)
        if entry is None or entry["class"] == ADVICE or library in WHOLE or not is_load(node):
            continue
        if _is_used(source, node) and (node.lineno, library) not in seen and _is_wanted(source, library):
            seen.add((node.lineno, library))
            yield _report_library(source, node, library, "use")


def _imported_twice(source: Source) -> Iterator[tuple[ast.Name, str]]:
    """Calls of a name that `try` and `except` import from two places of one library."""
    for call in source.nodes_of_type(ast.Call):
        if isinstance(call.func, ast.Name) and not source.names.resolve_name(call.func):
            values = [value for value in source.names.bound_values(call.func) if isinstance(value, str)]
            if len({_library_of_module(value) for value in values}) == 1:
                yield call.func, values[0]


def _is_used(source: Source, node: ast.expr) -> bool:
    above = source.names.parent_of(node)
    if isinstance(above, ast.Call):
        return above.func is node
    if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node in above.decorator_list
    if isinstance(above, ast.ClassDef):
        return node in above.bases or node in above.decorator_list
    return isinstance(above, ast.IfExp) or (isinstance(above, ast.Assign) and above.value is node)


def _check_dynamic_uses(source: Source) -> Iterator[Finding]:
    for name, calls in source.names.calls_by_method.items():
        for call in calls if name in METHODS else ():
            yield _report_library(source, call, METHODS[name], "use")
        for call in calls if name in KEPT else ():
            if _is_kept(source, call):
                yield _report_library(source, call, "flash_attn", "use")
    for name, calls in source.names.calls_by_name.items():
        package, _, class_name = name.rpartition(".")
        for call in calls if class_name in PLUGINS and "lightning" in package else ():
            yield _report_library(source, call, PLUGINS[class_name], "use")
    named = any(name in source.text for name in ("import_module", "__import__"))
    for call in source.nodes_of_type(ast.Call) if named else ():
        library = _library_of_module(dynamic_module(source, call))
        if library and _is_wanted(source, library):
            yield _report_library(source, call, library, "library")


def _is_kept(source: Source, call: ast.Call) -> bool:
    """A function that this file neither imports nor defines under that name."""
    assert isinstance(call.func, ast.Attribute)
    defined = {node.name for node in source.nodes_of_type(ast.FunctionDef)}
    base = call.func.value
    imported = isinstance(base, ast.Name) and any(isinstance(value, str) for value in source.names.bound_values(base))
    return not imported and call.func.attr not in defined and not source.names.resolve_call(call)


def _is_wanted(source: Source, library: str) -> bool:
    """Not where the file is part of the library, or the library's sources lie beside it (Megatron's still count)."""
    first = library.split(".")[0]
    return library not in ELSEWHERE and not source.is_of(first, beside=first != "megatron")


def _library_of_module(module: str) -> str:
    """The longest leading part of the module's name that the table knows."""
    parts = module.split(".")
    return next((".".join(parts[:n]) for n in (2, 1) if api_map.find_entry("third_party", ".".join(parts[:n]))), "")
