"""Which scripts already say npu, by our own explicit mode or by hand: transfer_to_npu has no place in them.

Decided script by script, with the modules that it imports: one that imports torch_npu itself, or stands in a tree
that does, needs transfer_to_npu only where it or a module of its still says CUDA in a place that only runs under it.
Where its modules are not all known (too many, or loaded by a name made at run time), any file of the tree may be one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.reading.settled import drop_settled_findings, written_for_npu
from ascend_workbook.migration.reading.source import Source, read_source
from ascend_workbook.migration.reading.undecoded import Unreadable, refuse_large
from ascend_workbook.migration.repair import AUTO, class_of
from ascend_workbook.migration.scan import scan_source

#: Of a script's modules so many are looked at, before any file of its tree may be one.
MOST_MODULES = 50
#: What runs files whose names no `import` says.
LOADS = re.compile(
    r"(?<!\w)(?:import_module|__import__|spec_from_file_location|SourceFileLoader|load_source|run_path|run_module"
    r"|iter_modules|walk_packages|entry_points|load_entry_point|pydoc\.locate|instantiate|exec)\s*\("
)


@dataclass(frozen=True)
class Said:
    """What a file says: npu of its own, the first place that needs transfer_to_npu (empty: none), and whether it
    loads files by names made at run time."""

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


def note_words(source: Source, scanned: Iterable[Finding]) -> Said:
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
