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

from helpers.finding import Finding
from helpers.migration.closure import walk
from helpers.migration.reading.settled import unsettled, written_for_npu
from helpers.migration.reading.source import Source, read
from helpers.migration.reading.undecoded import Unreadable, refuse_large
from helpers.migration.repair import AUTO, class_of
from helpers.migration.scan import scan_source

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

    def look(self, files: list[Path], speaking: Iterable[Path]) -> None:
        """Notes a tree's files, and whether one of those that speak of torch_npu says npu."""
        self.files, self.somewhere = files, any(self._of(file).npu for file in speaking)

    def needs(self, source: Source, scanned: list[Finding]) -> tuple[bool, bool]:
        """Whether a script that would import transfer_to_npu needs it, and whether npu is said around it."""
        if self.somewhere is False and not written_for_npu(source):
            return True, False
        files = self._modules(source)
        near = files[:MOST_MODULES]
        said_npu = written_for_npu(source) or any(_speaks(file) and self._of(file).npu for file in near)
        if not self.somewhere and not said_npu:
            return True, False
        modules = [said(source, scanned), *map(self._of, near)]
        still = any(module.still for module in modules)
        if len(files) > MOST_MODULES or any(module.loads for module in modules):
            still = still or not self.files or any(self._of(file).still for file in self.files)
        return still, True

    def _modules(self, source: Source) -> list[Path]:
        """Of all its modules, one more than are looked at."""
        file = source.file or (self.root / source.path if self.root else None)
        if file is None:
            return []
        roots = [self.root] if self.root and self.root != file.parent else []
        modules = (module for module in walk(file, *roots, tree=source.tree) if module != file)
        return list(islice(modules, MOST_MODULES + 1))

    def _of(self, file: Path) -> Said:
        if file not in self.known:
            self.known[file] = _read(file)
        return self.known[file]


def said(source: Source, scanned: Iterable[Finding]) -> Said:
    """Of a file with its findings: places that any device could stand in need nothing."""
    needs = [finding for finding in unsettled(source, scanned) if class_of(finding) == AUTO]
    still = str(needs[0].place) if needs else ""
    return Said(written_for_npu(source), still, loads(source))


def loads(source: Source) -> bool:
    return LOADS.search(source.text) is not None


def unreached(files: Sequence[Path], scripts: Iterable[tuple[Path, ast.Module | None]], root: Path) -> list[Path]:
    """Which files none of the scripts imports, directly or not; a notebook comes with the tree of its cells."""
    left = dict.fromkeys(files)
    for script, cells in scripts:
        if not left:
            break
        for module in walk(script, root, tree=cells):
            left.pop(module, None)
    return list(left)


def _speaks(file: Path) -> bool:
    """Whether a file may say npu; most say nothing of it, and need not be parsed."""
    try:
        refuse_large(file.stat().st_size)
        return b"torch_npu" in file.read_bytes()
    except (Unreadable, OSError):
        return False  # whoever reads it for its findings says so


def _read(file: Path) -> Said:
    try:
        source = read(file)
        return said(source, scan_source(source))
    except (Unreadable, OSError):
        return Said(False)  # whoever reads it for its findings says so
