"""Triton kernels: written for NVIDIA's compiler. triton-ascend exists; every kernel needs a review.

Found are the imports, what makes a kernel (`@triton.jit`), what launches one (`kernel[grid](...)`) and what calls
a function that a module named for Triton gives. Where the project itself names triton-ascend among what it needs, its
kernels have a compiler for NPUs: that is said at the imports, once each, and nothing else.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.reading.source import Import, Source
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.repair import ADVICE, DOCUMENTED, UNSUPPORTED, Findings, Known, finding_at
from ascend_workbook.migration.texts import read_text
from ascend_workbook.migration.texts.requirements import dependency_lines, read_requirement

CODE = "MIG112"
WORDS = ("triton",)
HOURS = {"kernel": 16.0, "definition": 8.0, "call": 1.0, "ascend": 0.0}
KNOWN = Known(DOCUMENTED, "https://pypi.org/project/triton-ascend/", hours=HOURS)
#: NVIDIA's inference server, an HTTP service of the same name.
SERVERS = {"triton_python_backend_utils", "tritonclient"}
#: The package that compiles Triton for NPUs; what may stand behind it where it is asked for, not spoken of; and where a
#: project says what it needs.
ASCEND = re.compile(r"triton[-_.]ascend", re.IGNORECASE)
ASKED = re.compile(r"\s*(?:$|[=<>!~;@,'\"\]])")
REQUIREMENTS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "requirements/*.txt")
#: Functions that only tell whether Triton is there.
ASKS = re.compile(r"^(?:is|has|have|can|use|uses|require|requires|check)_|availab|installed|version|supported")


def imports_kernels(node: Import) -> bool:
    """An import of triton, or of a module of the project whose name says triton."""
    if isinstance(node, ast.Import):
        return any(_is_triton(name.name) for name in node.names)
    return bool(_kernel_names(node))


def _kernel_names(node: ast.ImportFrom) -> set[str]:
    """What such an import gives that may be, or hold, a kernel, by its name here: asking whether Triton is there is
    none, and beside a name that says triton another of the same import says nothing."""
    module = node.module or ""
    if module.startswith("torch."):
        return set()
    kernel_aliases = [name for name in node.names if not ASKS.search(name.name)]
    if not _is_triton(module):
        kernel_aliases = [name for name in kernel_aliases if node.level > 0 and "triton" in name.name]
    return {name.asname or name.name for name in kernel_aliases}


def check(source: Source) -> Findings:
    uses = False
    if any(map(imports_kernels, source.imports)) and is_compiled_for_npu(source):
        for node in filter(imports_kernels, source.imports):
            yield finding_at(source, node, "MIG112.ascend", ADVICE)
        return
    for node in source.imports:
        if imports_kernels(node):
            uses = True
            yield finding_at(source, node, "MIG112.kernel", UNSUPPORTED)
            yield from _check_kernel_uses(source, node)
    if not uses:
        return
    yield from _check_definitions(source)
    for statement in source.nodes_of_type(ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript):  # a launch: `kernel[grid](...)`
            base = call.func.value
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            yield finding_at(source, call, "MIG112.call", UNSUPPORTED, name=name or "[grid]")


def is_compiled_for_npu(source: Source) -> bool:
    """Return whether the project that a file belongs to names triton-ascend among what it needs: in a folder around
    the file, up to the one that is scanned or a repository's own."""
    folders = list(source.file.parents)[: len(Path(source.path).parts)] if source.file else []
    for folder in folders:
        if _needs_ascend(folder):
            return True
        if os.path.lexists(folder / ".git"):
            return False
    return False


def _needs_ascend(folder: Path) -> bool:
    try:
        lists = [file for pattern in REQUIREMENTS for file in sorted(folder.glob(pattern)) if file.is_file()]
    except OSError:
        return False
    return any(map(_asks_for_ascend, lists))


def _asks_for_ascend(file: Path) -> bool:
    """Return whether a list asks for the package; none that cannot be read; the scan says so."""
    try:
        source = read_text(file, file.name)
    except (Unreadable, OSError):
        return False
    if not ASCEND.search(source.text):
        return False
    asked = (asking for start, line in dependency_lines(source) for asking in read_requirement(start, line))
    return any(ASCEND.fullmatch(name) and ASKED.match(rest) for _, name, rest in asked)


def _check_definitions(source: Source) -> Iterator[Finding]:
    """Decorators and calls of triton's own at module or function level; inside a kernel they are its text."""
    kernels = set()
    for function in source.nodes_of_type(ast.FunctionDef):
        for decorator in function.decorator_list:
            name = source.names.resolve_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if name.startswith("triton."):
                kernels.add(function)
                yield finding_at(source, decorator, "MIG112.definition", UNSUPPORTED, name=name)
    decorators = {decorator for function in kernels for decorator in function.decorator_list}
    for call in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(call)
        if not name.startswith("triton.") or call in decorators:
            continue
        if not {*source.names.nodes_above(call)} & {*kernels, *decorators}:
            yield finding_at(source, call, "MIG112.call", UNSUPPORTED, name=name)


def _check_kernel_uses(source: Source, node: ast.stmt) -> Iterator[Finding]:
    """Calls of what a project's own triton module gives: `from .triton_ops import f; f(x)`."""
    if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] == "triton":
        return
    kernel_names = _kernel_names(node)
    inside = source.names.enclosing_function(node)
    wrapper = inside.name if isinstance(inside, ast.FunctionDef) else None
    for call in source.nodes_of_type(ast.Call):
        called = getattr(call.func, "id", "")
        known = called in kernel_names and (source.names.enclosing_function(call) is inside or not wrapper)
        if known or (called and _is_wrapper(source, call, called, wrapper)):
            yield finding_at(source, call, "MIG112.call", UNSUPPORTED, name=called)


def _is_wrapper(source: Source, call: ast.Call, called: str, wrapper: str | None) -> bool:
    """The function that imports the kernel without a fallback of its own, called from elsewhere."""
    if called != wrapper:
        return False
    defined = next(node for node in source.nodes_of_type(ast.FunctionDef) if node.name == wrapper)
    guarded = any(isinstance(node, ast.Try) for node in ast.walk(defined))
    return not guarded and source.names.enclosing_function(call) is not defined


def _is_triton(module: str) -> bool:
    parts = module.split(".")
    if parts[0] in SERVERS:
        return False
    named = [part for part in parts if part != "triton_ascend"]  # kernels that were written for NPUs
    return parts[0] == "triton" or any(part.startswith("triton_") or part.endswith("_triton") for part in named)
