"""Where `import torch_npu` and transfer_to_npu go; needs_import says which files need them.

They must run before any module takes names out of torch.cuda: `from torch.cuda.amp import GradScaler` keeps
the old class for good. Before the first import that is neither the standard library's nor a known bystander
is always early enough, and leaves environment variables set above it in force.
"""

from __future__ import annotations

import ast
import re
import sys
from itertools import islice
from pathlib import Path

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.reading.names import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Source, read_source
from ascend_workbook.migration.reading.undecoded import Unreadable

# Which files need transfer_to_npu: made to be run, and torch is used by them or by what they import.

#: What stands on lines of imports, also between brackets over several lines.
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\r\n]*))|import[ \t]+([^\r\n]*))", re.MULTILINE
)
WORD = re.compile(rb"\w+")
#: A script that uses torch reaches it sooner, as a rule.
MOST_MODULES = 50


def needs_import(
    source: Source, *, script: bool, uses: bool = False, root: Path | None = None, torch_around: bool = False
) -> bool:
    """A script that uses torch and does not yet import transfer_to_npu.

    `uses`: it has places that only run under transfer_to_npu, whoever imports torch for it. Modules that it imports
    are looked for beside it and in `root`; `torch_around`: what to take for those beyond MOST_MODULES.
    """
    modules = list_imported_names(source.tree)
    if not script or TRANSFER in modules:
        return False
    if "torch" in _top_names(modules) or (uses and not all(map(is_harmless, modules))):
        return True
    file = source.file or (root / source.path if root else None)
    return file is not None and _brings_torch(file, source.tree, root, torch_around)


def is_entry(source: Source, *, unnamed: bool = False) -> bool:
    """A file made to be run: a __main__ guard, or loops at its top level, or calls in one that no other file names."""
    for statement in source.tree.body:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare):
            left = statement.test.left
            if isinstance(left, ast.Name) and left.id == "__name__":
                return True
        if isinstance(statement, (ast.For, ast.While, ast.With)):
            return True
    if not unnamed or any(node.level for node in source.nodes_of_type(ast.ImportFrom)):  # a module of a package
        return False
    return any(_is_work(source, statement) for statement in source.tree.body)


def list_imported_words(data: bytes) -> set[str]:
    """All words on the lines that import: the last names of modules are among them."""
    return {
        word.decode("ascii", "replace")
        for match in IMPORT.finditer(data)
        for part in match.groups()
        if part
        for word in WORD.findall(part)
    }


def _is_work(source: Source, statement: ast.stmt) -> bool:
    """A call for its effect, unless it only sets up the standard library or a bystander: logging, sys.path, setup."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    called = source.names.resolve_call(statement.value)
    return not (called and is_harmless(called))


def _brings_torch(file: Path, tree: ast.Module, root: Path | None, beyond: bool) -> bool:
    """A module that the script imports uses torch, and does not see to transfer_to_npu."""
    roots = [root] if root and root != file.parent else []
    for number, module in enumerate(islice(walk_imports(file, *roots, tree=tree), MOST_MODULES + 1)):
        if number == MOST_MODULES:
            return beyond
        try:
            modules = list_imported_names(read_source(module).tree) if b"torch" in module.read_bytes() else set()
        except (Unreadable, OSError):
            continue
        if TRANSFER in modules or "torch" in _top_names(modules):
            return TRANSFER not in modules
    return False


def _top_names(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


LINES = ("import torch_npu", "from torch_npu.contrib import transfer_to_npu")
#: Libraries that import no torch; anything else may.
BYSTANDERS = set(
    """
    numpy scipy sklearn pandas matplotlib PIL yaml tqdm cv2 requests packaging absl omegaconf hydra tabulate psutil
    setuptools
    """.split()
)

#: For Python 3.9, which cannot name its standard library: what scripts import above torch.
COMMON_STDLIB = frozenset(
    """
    __future__ argparse collections contextlib copy csv dataclasses datetime functools glob inspect io itertools
    json logging math os pathlib pickle platform random re shutil string subprocess sys sysconfig tempfile time
    types typing warnings
    """.split()
)


def transfer_edit(source: Source, lines: tuple[str, ...] = LINES) -> tuple[Edit, ast.stmt]:
    """The lines as an insertion, and the statement they stand before (or behind, where none imports torch)."""
    if lines == LINES and "torch_npu" in list_imported_names(source.tree):
        lines = LINES[1:]
    body = source.tree.body
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)  # their bodies do not run
    top = (statement for statement in body if not isinstance(statement, functions))
    first = next((statement for statement in top if not all(map(is_harmless, list_imported_names(statement)))), None)
    if first is None:  # torch is imported inside functions only: behind the last top-level import
        return _insert_behind(source, lines)
    start, _ = source.span_of(first)
    head = source.line_starts[first.lineno - 1]
    if isinstance(first, ast.ClassDef) and first.decorator_list:
        head = source.line_starts[first.decorator_list[0].lineno - 1]
    joined = first.lineno > 1 and source.read_line(first.lineno - 1).endswith("\\")
    if source.text[head:start].strip() or joined:
        return Edit(start, start, "; ".join(lines) + "; "), first
    return Edit(head, head, "".join(line + source.line_end for line in lines)), first


def _insert_behind(source: Source, lines: tuple[str, ...]) -> tuple[Edit, ast.stmt]:
    body = source.tree.body
    imports = [at for at, statement in enumerate(body) if isinstance(statement, (ast.Import, ast.ImportFrom))]
    docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    last = imports[-1] if imports else 0 if docstring else -1
    if last < 0:
        head = source.line_starts[body[0].lineno - 1]
        return Edit(head, head, "".join(line + source.line_end for line in lines)), body[0]
    _, end = source.span_of(body[last])
    behind = source.text[end:].split("\n", 1)[0].split("\r", 1)[0]
    if behind.strip() and not behind.strip().startswith("#"):
        return Edit(end, end, "; " + "; ".join(lines)), body[last]
    return Edit(end + len(behind), end + len(behind), "".join(source.line_end + line for line in lines)), body[last]


def is_harmless(name: str) -> bool:
    """A module that imports no torch: the standard library's, or a known bystander."""
    top = name.split(".")[0]
    stdlib = getattr(sys, "stdlib_module_names", None) or COMMON_STDLIB.union(sys.builtin_module_names)
    return top in BYSTANDERS or top in stdlib or top == "torch_npu"
