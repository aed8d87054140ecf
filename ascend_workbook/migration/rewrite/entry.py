"""Where `import torch_npu` and transfer_to_npu go; needs_import says which files need them.

They must run before any module takes names out of torch.cuda: `from torch.cuda.amp import GradScaler` keeps
the old class for good. Before the first import that is neither the standard library's nor a known bystander
is always early enough, and leaves environment variables set above it in force.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.migration import api_map
from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.reading.branches import drop_settled_findings, written_for_npu
from ascend_workbook.migration.reading.names import TRANSFER, list_imported_names
from ascend_workbook.migration.reading.source import Source, read_source
from ascend_workbook.migration.reading.undecoded import Unreadable, refuse_large
from ascend_workbook.migration.repair import AUTO, Findings, class_of
from ascend_workbook.migration.scan import scan_source

#: What runs files whose names no `import` says.
LOADS = re.compile(
    r"(?<!\w)(?:import_module|__import__|spec_from_file_location|SourceFileLoader|load_source|run_path|run_module"
    r"|iter_modules|walk_packages|entry_points|load_entry_point|pydoc\.locate|instantiate|exec)\s*\("
)


@dataclass(frozen=True)
class Said:
    """Whether a file says npu and loads files by names made at run time; the first place that needs transfer_to_npu."""

    npu: bool
    still: str = ""
    loads: bool = False


@dataclass
class Ported:
    """`somewhere`: one of the tree's `files` says npu; None where it is one file, so that its modules are to tell."""

    root: Path | None = None
    somewhere: bool | None = None
    files: list[Path] = field(default_factory=list)
    known: dict[Path, Said] = field(default_factory=dict)

    def note_files(self, files: list[Path], speaking: Iterable[Path]) -> None:
        """Notes a tree's files, and whether one of those that speak of torch_npu says npu."""
        self.files, self.somewhere = files, any(self._words_of_file(file).npu for file in speaking)

    def needs_transfer(self, source: Source, scanned: list[Finding]) -> tuple[bool, bool]:
        """Whether a script that would import transfer_to_npu needs it, and whether npu is said around it."""
        if self.somewhere is False and not written_for_npu(source):
            return True, False
        files = self._list_modules(source)
        near = files[:MOST_MODULES]
        said_npu = written_for_npu(source) or any(_may_say_npu(file) and self._words_of_file(file).npu for file in near)
        if not self.somewhere and not said_npu:
            return True, False
        modules = [note_words(source, scanned), *map(self._words_of_file, near)]
        still = any(module.still for module in modules)
        if len(files) > MOST_MODULES or any(module.loads for module in modules):
            still = still or not self.files or any(self._words_of_file(file).still for file in self.files)
        return still, True

    def _list_modules(self, source: Source) -> list[Path]:
        """Of all its modules, one more than are looked at."""
        file = source.file or (self.root / source.path if self.root else None)
        if file is None:
            return []
        roots = [self.root] if self.root and self.root != file.parent else []
        modules = (module for module in walk_imports(file, *roots, tree=source.tree) if module != file)
        return list(islice(modules, MOST_MODULES + 1))

    def _words_of_file(self, file: Path) -> Said:
        if file not in self.known:
            self.known[file] = _read_words(file)
        return self.known[file]


def note_words(source: Source, scanned: Findings) -> Said:
    """Note what a file with its findings says: places that any device could stand in need nothing."""
    needs = [finding for finding in drop_settled_findings(source, scanned) if class_of(finding) == AUTO]
    still = str(needs[0].place) if needs else ""
    return Said(written_for_npu(source), still, loads_torch_npu(source))


def loads_torch_npu(source: Source) -> bool:
    return LOADS.search(source.text) is not None


def list_unreached_files(
    files: Sequence[Path], scripts: Iterable[tuple[Path, ast.Module | None]], root: Path
) -> list[Path]:
    """Which files none of the scripts imports, directly or not; a notebook comes with the tree of its cells."""
    left = dict.fromkeys(files)
    for script, cells in scripts:
        if not left:
            break
        for module in walk_imports(script, root, tree=cells):
            left.pop(module, None)
    return list(left)


def _may_say_npu(file: Path) -> bool:
    """Whether a file may say npu; most say nothing of it, and need not be parsed."""
    try:
        refuse_large(file.stat().st_size)
        return b"torch_npu" in file.read_bytes()
    except (Unreadable, OSError):
        return False  # whoever reads it for its findings says so


def _read_words(file: Path) -> Said:
    try:
        source = read_source(file)
        return note_words(source, scan_source(source))
    except (Unreadable, OSError):
        return Said(False)  # whoever reads it for its findings says so


# Which files need transfer_to_npu: made to be run, and torch is used by them or by what they import.

#: What stands on lines of imports, also between brackets over several lines.
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\r\n]*))|import[ \t]+([^\r\n]*))", re.MULTILINE
)
WORD = re.compile(rb"\w+")
#: Of a script's modules so many are looked at: one that uses torch reaches it sooner, as a rule.
MOST_MODULES = 50


def needs_import(
    source: Source, *, script: bool, uses: bool = False, root: Path | None = None, torch_around: bool = False
) -> bool:
    """A script that uses torch and does not yet import transfer_to_npu.

    `uses`: it has places that only run under transfer_to_npu, whoever imports torch for it. Modules that it imports
    are looked for beside it and in `root`; `torch_around`: what to take for those beyond MOST_MODULES."""
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
    # a call for its effect, unless it only sets up the standard library or a bystander: logging, sys.path, setup
    calls = (line.value for line in source.tree.body if isinstance(line, ast.Expr) and isinstance(line.value, ast.Call))
    return not all((called := source.names.resolve_call(call)) and is_harmless(called) for call in calls)


def list_imported_words(data: bytes) -> set[str]:
    """All words on the lines that import: the last names of modules are among them."""
    return {
        word.decode("ascii", "replace")
        for match in IMPORT.finditer(data)
        for part in match.groups()
        if part
        for word in WORD.findall(part)
    }


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
BYSTANDERS = set(api_map.list_names("without_torch"))

#: For Python 3.9, which cannot name its standard library: what scripts import above torch.
COMMON_STDLIB = frozenset(api_map.list_names("common_stdlib"))


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
