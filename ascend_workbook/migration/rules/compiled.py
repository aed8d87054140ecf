"""Kernels that a project compiled for itself: modules named `…_cuda`, a package's `_C` or `_ext`, and their calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress

from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import dynamic_module, method_name
from ascend_workbook.migration.reading.source import Import, Source
from ascend_workbook.migration.repair import INFERRED, UNSUPPORTED, Findings, Known, finding_at
from ascend_workbook.migration.rules import extension

# Operators by hand: an autograd function whose two ways call one imported module, `k.pool_forward`,
# `k.pool_backward`.

FUNCTIONS = {"torch.autograd.Function", "torch.autograd.function.Function", "torch.autograd.function.InplaceFunction"}
WAYS = re.compile(r"(?:^|_)(?:(?P<forward>forward|fwd)|(?P<backward>backward|bwd))(?:_|$)", re.IGNORECASE)


def find_paired_modules(source: Source) -> set[str]:
    """List what this file calls the imported modules whose forward and backward its autograd functions call."""
    ways: dict[str, set[str]] = {}
    for node in source.nodes_of_type(ast.ClassDef):
        if any(source.names.resolve_name(base) in FUNCTIONS for base in node.bases):
            for inner in ast.walk(node):
                name, way = _module_and_way(source, inner)
                ways.setdefault(name, set()).add(way)
    return {name for name, way_names in ways.items() if name and {"forward", "backward"} <= way_names}


def _module_and_way(source: Source, node: ast.AST) -> tuple[str, str]:
    """The module and the way of `module.pool_forward(...)`; empty where it is anything else."""
    func = node.func if isinstance(node, ast.Call) else None
    way = WAYS.search(func.attr) if isinstance(func, ast.Attribute) else None
    base = func.value if isinstance(func, ast.Attribute) else None
    if way is None or not isinstance(base, ast.Name):
        return "", ""
    values = [value for value in source.names.bound_values(base) if isinstance(value, str)]
    if not values or any(value.split(".")[0] in ("torch", "numpy") for value in values):
        return "", ""
    return base.id, str(way.lastgroup)


CODE = "MIG137"
TOKENS = {"_C", "_ext", "autograd"}
WORDS = ("_cuda",)
PATTERN = r"(?<!torch\.)\b_C\b|_cuda(?:_|\b)|\b_ext\b|\b(?:Inplace)?Function\b"  # torch._C is PyTorch's own
KNOWN = Known(INFERRED, extension.PAGE, hours={"module": 40.0, "call": 1.0})
#: First words of modules and functions that only talk about CUDA.
HELPERS = tuple(api_map.list_names("cuda_helpers"))
#: Settings of yacs and its like, that are called _C by custom.
SETTINGS = re.compile(r"^_C\s*=\s*(?:CN|\w*(?:Cfg|Config)\w*)\(", re.MULTILINE)
#: What the two kernels of an operator are called.
LAUNCHED = re.compile(r"(forward|backward|fwd|bwd)", re.IGNORECASE)
#: Packages whose own compiled part is no matter of CUDA, or that have NPU builds.
PLAIN = {"torch", "torchvision", "torchaudio", "torch_npu"}


def check(source: Source) -> Findings:
    roots = [(call, _root_of_call(call)) for call in source.nodes_of_type(ast.Call)]
    called = {name for _, name in roots}
    launched = {name for call, name in roots if LAUNCHED.match(method_name(call))}
    built, pairs = extension.list_built_modules(source), find_paired_modules(source)
    module_of_name: dict[str, str] = {}
    for node in source.imports:
        for module, local, is_module in _find_compiled_modules(source, node):
            if is_module or local in (launched if "_cuda_" in module else called):
                module_of_name[local] = module
                yield finding_at(source, node, "MIG137.module", UNSUPPORTED, name=module)
        for name in node.names:
            local, known = name.asname or name.name, api_map.find_entry("third_party", name.name.split(".")[0])
            if local in pairs and local not in module_of_name and known is None:  # else third_party.py speaks of it
                yield finding_at(source, node, "MIG137.module", UNSUPPORTED, name=name.name)
    module_of_name |= {local: local for local in pairs - set(module_of_name)}
    for call, _ in roots:
        module = dynamic_module(source, call)
        if module and _is_kernels(module):
            above = source.names.parent_of(call)
            targets = above.targets if isinstance(above, ast.Assign) else []
            module_of_name |= {target.id: module for target in targets if isinstance(target, ast.Name)}
            yield finding_at(source, call, "MIG137.module", UNSUPPORTED, name=module)
    for call, root in roots:
        if root in module_of_name and root not in built:  # extension.py speaks of what is built here
            yield finding_at(source, call, "MIG137.call", UNSUPPORTED, name=module_of_name[root])


def list_compiled_names(source: Source) -> set[str]:
    """List what this file calls the compiled modules that it imports."""
    return {local for node in source.imports for _, local, _ in _find_compiled_modules(source, node)}


def _root_of_call(call: ast.Call) -> str:
    """`kernels` of `kernels.forward(...)`, and `f()` for a plain call."""
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return func.value.id
    return f"{func.id}()" if isinstance(func, ast.Name) else ""


def _find_compiled_modules(source: Source, node: Import) -> Iterator[tuple[str, str, bool]]:
    """Such modules of an import: what they are called, by what root calls name them, and whether that is sure."""
    with_torch = "torch" in source.text
    if isinstance(node, ast.Import):
        for name in node.names:
            if _is_kernels(name.name):
                yield name.name, name.asname or name.name, True
            # `alt_cuda_corr`, with cuda between its words: kernels only where one is called `forward`
            elif "." not in name.name and "_cuda_" in name.name and not name.name.startswith(HELPERS):
                yield name.name, name.asname or name.name, False
            elif name.asname and with_torch and name.name.endswith("._ext"):
                yield name.name, name.asname, False
        return
    module = node.module or ""
    plain = module.split(".")[0] in PLAIN or _holds_settings(source, node)
    for name in () if plain else node.names:
        local = name.asname or name.name
        if _is_kernels(module):
            yield module, f"{local}()", True
        elif name.name == "_C" or _is_kernels(name.name) or (with_torch and name.name == "_ext"):
            yield name.name, local, False
        elif with_torch and module.split(".")[-1] == "_ext":
            yield module, local, False
            yield module, f"{local}()", False


def _holds_settings(source: Source, node: ast.ImportFrom) -> bool:
    """`from .defaults import _C` of a file defaults.py that says `_C = CfgNode()`: settings, and no compiled part."""
    if not node.level or not node.module or source.file is None:
        return False
    for folder in source.file.resolve().parents[node.level - 1 : node.level]:
        with suppress(OSError):
            text = (folder / f"{node.module.replace('.', '/')}.py").read_text(encoding="utf-8", errors="replace")
            return SETTINGS.search(text) is not None
    return False


def _is_kernels(module: str) -> bool:
    """`roi_align_cuda`; not `torch.cuda`, `utils_cuda` or what the table of libraries has."""
    first, last = module.split(".")[0], module.rpartition(".")[2]
    known = api_map.find_entry("third_party", first) or api_map.find_entry("third_party", last)
    return last.endswith("_cuda") and not last.startswith(HELPERS) and known is None
