"""CUDA extensions: .cu sources need nvcc and a GPU. Ascend C operators are built with NpuExtension.

Found are torch's own builders, any call that is handed .cu sources or flags for nvcc (a project's wrapper around
them), a call of this file's own function that returns such a module, and what is called in a module that was built so,
torch.ops.<its name> included.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ascend_workbook.migration.reading.calls import find_argument, is_load, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND, MEASURED, UNSUPPORTED, Findings, Known, finding_at

CODE = "MIG114"
TOKENS = ("cpp_extension", "cu", "extra_cuda_cflags", "fused_kernels", "create_extension")
PAGE = ASCEND + "docs/zh/developer_notes/custom_operator_adaptation/c_extensions_operator_adaptation.md"
KNOWN = Known(MEASURED, PAGE, hours={"cuda": 40.0, "call": 1.0})
BUILD = "torch.utils.cpp_extension."
#: Functions of well-known projects that build their CUDA kernels.
BUILDERS = ("megatron.fused_kernels.load", "megatron.legacy.fused_kernels.load")
#: Suffixes of sources for nvcc.
SUFFIXES = (".cu", ".cuh")


def check(source: Source) -> Findings:
    spaces: set[str] = set()
    for call in _find_builds(source):
        name = source.names.resolve_call(call) or getattr(call.func, "attr", "") or getattr(call.func, "id", "")
        yield finding_at(source, call, "MIG114.cuda", UNSUPPORTED, name=name)
        spaces.add(f"torch.ops.{string_value(find_argument(call, 0, 'name'))}.")
    for node, name in source.names.named_nodes:  # `extension = CUDAExtension`, to be called under another name
        above = source.names.parent_of(node)
        if name == BUILD + "CUDAExtension" and isinstance(above, (ast.Assign, ast.IfExp)) and is_load(node):
            yield finding_at(source, node, "MIG114.cuda", UNSUPPORTED, name=name)
    modules = list_built_modules(source) if spaces else set()
    for call in source.nodes_of_type(ast.Call) if spaces else ():
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(base, ast.Name) and base.id in modules:
            yield finding_at(source, call, "MIG114.call", UNSUPPORTED, name=base.id)
        elif source.names.resolve_call(call).startswith(tuple(spaces)):
            yield finding_at(source, call, "MIG114.call", UNSUPPORTED, name=source.names.resolve_call(call))


def list_built_modules(source: Source) -> set[str]:
    """List what this file calls the modules that it builds from CUDA code."""
    return {name for call in _find_builds(source) for name in _names_of_result(source, call)}


def _find_builds(source: Source) -> list[ast.Call]:
    """The calls that build CUDA code, and those of this file's functions that return what they build."""
    calls = source.nodes_of_type(ast.Call)
    direct = [call for call in calls if _is_build(source, call)]
    makers = {name for call in direct for name in _find_returning_function(source, call)}
    return direct + [call for call in calls if getattr(call.func, "id", "") in makers and call not in direct]


def _names_of_result(source: Source, call: ast.Call) -> list[str]:
    """The names that a call's result is given."""
    above = source.names.parent_of(call)
    targets = above.targets if isinstance(above, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _find_returning_function(source: Source, call: ast.Call) -> Iterable[str]:
    """The name of the function that returns this call's result, at once or through a name."""
    result_names = _names_of_result(source, call)
    for around in source.names.nodes_above(call):
        if isinstance(around, ast.FunctionDef):
            returns = (inner.value for inner in ast.walk(around) if isinstance(inner, ast.Return))
            if any(value is call or (isinstance(value, ast.Name) and value.id in result_names) for value in returns):
                yield around.name
            return


def _is_build(source: Source, call: ast.Call) -> bool:
    full = source.names.resolve_call(call)
    if full == "torch.utils.ffi.create_extension":
        with_cuda = find_argument(call, 99, "with_cuda")
        return with_cuda is not None and getattr(with_cuda, "value", True) is not False
    return full in BUILDERS or _is_cuda(source, call, full[len(BUILD) :] if full.startswith(BUILD) else "")


def _is_cuda(source: Source, call: ast.Call, name: str) -> bool:
    if name == "CUDAExtension" or find_argument(call, 99, "extra_cuda_cflags") is not None:
        return True
    if name == "load_inline":
        return find_argument(call, 2, "cuda_sources") is not None
    sources = find_argument(call, 1, "sources")
    if name in ("load", "CppExtension"):
        unknown = name == "load" and isinstance(sources, (ast.Name, ast.Attribute)) and "cuda" in source.text.lower()
        return unknown or any((string_value(node) or "").endswith(SUFFIXES) for node in ast.walk(call))
    named = find_argument(call, 99, "sources")
    return isinstance(named, ast.List) and any((string_value(at) or "").endswith(SUFFIXES) for at in named.elts)
