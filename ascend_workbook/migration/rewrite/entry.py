"""Where `import torch_npu` and transfer_to_npu go; scripts.py says which files need them.

They must run before any module takes names out of torch.cuda: `from torch.cuda.amp import GradScaler` keeps
the old class for good. Before the first import that is neither the standard library's nor a known bystander
is always early enough, and leaves environment variables set above it in force.
"""

from __future__ import annotations

import ast
import sys

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.imports import list_imported_names
from ascend_workbook.migration.reading.source import Source

LINES = ("import torch_npu", "from torch_npu.contrib import transfer_to_npu")
#: Libraries that import no torch; anything else may.
BYSTANDERS = {
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
    "PIL",
    "yaml",
    "tqdm",
    "cv2",
    "requests",
    "packaging",
    "absl",
    "omegaconf",
    "hydra",
    "tabulate",
    "psutil",
    "setuptools",
}

#: For Python 3.9, which cannot name its standard library: what scripts import above torch.
COMMON_STDLIB = frozenset(
    [
        "__future__",
        "argparse",
        "collections",
        "contextlib",
        "copy",
        "csv",
        "dataclasses",
        "datetime",
        "functools",
        "glob",
        "inspect",
        "io",
        "itertools",
        "json",
        "logging",
        "math",
        "os",
        "pathlib",
        "pickle",
        "platform",
        "random",
        "re",
        "shutil",
        "string",
        "subprocess",
        "sys",
        "sysconfig",
        "tempfile",
        "time",
        "types",
        "typing",
        "warnings",
    ]
)


def transfer_edit(source: Source, lines: tuple[str, ...] = LINES) -> tuple[Edit, ast.stmt]:
    """The lines as an insertion, and the statement they stand before (or behind, where none imports torch)."""
    if lines == LINES and "torch_npu" in list_imported_names(source.tree):
        lines = LINES[1:]
    body = source.tree.body
    first = next((statement for statement in body if _may_import_torch(statement)), None)
    if first is None:  # torch is imported inside functions only: behind the last top-level import
        return _insert_behind(source, lines)
    start, _ = source.span_of(first)
    head = source.line_starts[first.lineno - 1]
    if isinstance(first, (ast.FunctionDef, ast.ClassDef)) and first.decorator_list:
        head = source.line_starts[first.decorator_list[0].lineno - 1]
    if source.text[head:start].strip() or _continues_line(source, first.lineno):
        return Edit(start, start, "; ".join(lines) + "; "), first
    return Edit(head, head, "".join(line + source.line_end for line in lines)), first


def _insert_behind(source: Source, lines: tuple[str, ...]) -> tuple[Edit, ast.stmt]:
    body = source.tree.body
    last = max((at for at, statement in enumerate(body) if _is_prologue(statement, at)), default=-1)
    if last < 0:
        head = source.line_starts[body[0].lineno - 1]
        return Edit(head, head, "".join(line + source.line_end for line in lines)), body[0]
    _, end = source.span_of(body[last])
    behind = source.text[end:].split("\n", 1)[0].split("\r", 1)[0]
    if behind.strip() and not behind.strip().startswith("#"):
        return Edit(end, end, "; " + "; ".join(lines)), body[last]
    return Edit(end + len(behind), end + len(behind), "".join(source.line_end + line for line in lines)), body[last]


def _is_prologue(statement: ast.stmt, at: int) -> bool:
    """The docstring and imports."""
    docstring = at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return docstring or isinstance(statement, (ast.Import, ast.ImportFrom))


def _may_import_torch(statement: ast.stmt) -> bool:
    """A statement that runs an import of torch, or of what may import it; function bodies do not run."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return any(not is_harmless(name) for name in list_imported_names(statement))


def is_harmless(name: str) -> bool:
    """A module that imports no torch: the standard library's, or a known bystander."""
    top = name.split(".")[0]
    return top in BYSTANDERS or top in _stdlib_modules() or top == "torch_npu"


def _stdlib_modules() -> frozenset[str]:
    names: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())  # Python 3.10
    return names or frozenset(sys.builtin_module_names) | COMMON_STDLIB


def _continues_line(source: Source, line: int) -> bool:
    """The line before ends in a backslash: nothing can be put between them."""
    return line > 1 and source.read_line(line - 1).endswith("\\")
