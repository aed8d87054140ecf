"""Which scripts already say npu, by our own explicit mode or by hand: transfer_to_npu has no place in them.

Decided script by script, with the modules that it imports: one that imports torch_npu itself, or stands in a tree
that does, needs transfer_to_npu only where it or a module of its still says CUDA in a place that only runs under it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from helpers.finding import Finding
from helpers.migration.closure import walk
from helpers.migration.reading.settled import is_settled, written_for_npu
from helpers.migration.reading.source import Source, read
from helpers.migration.reading.undecoded import Unreadable
from helpers.migration.repair import AUTO, class_of
from helpers.migration.scan import scan_source

#: Of a script's modules so many are looked at.
MOST_MODULES = 50


@dataclass(frozen=True)
class Said:
    """What a file says: npu of its own, and the first place that needs transfer_to_npu (empty: none)."""

    npu: bool
    still: str = ""


@dataclass
class Ported:
    """`somewhere`: a file of the tree says npu; None where the tree is one file, so that its modules are to tell."""

    root: Path | None = None
    somewhere: bool | None = None
    known: dict[Path, Said] = field(default_factory=dict)

    def look(self, files: Iterable[Path]) -> None:
        """Notes whether one of a tree's files says npu."""
        self.somewhere = any(self._of(file).npu for file in files)

    def needs(self, source: Source, scanned: list[Finding]) -> tuple[bool, bool]:
        """Whether a script that would import transfer_to_npu needs it, and whether npu is said around it."""
        if self.somewhere is False and not written_for_npu(source):
            return True, False
        own = said(source, scanned)
        modules = [self._of(file) for file in self._modules(source)]
        npu = own.npu or bool(self.somewhere) or any(module.npu for module in modules)
        return not npu or bool(own.still) or any(module.still for module in modules), npu

    def _modules(self, source: Source) -> list[Path]:
        file = source.file or (self.root / source.path if self.root else None)
        if file is None:
            return []
        roots = [self.root] if self.root and self.root != file.parent else []
        return [module for module in islice(walk(file, *roots, tree=source.tree), MOST_MODULES) if module != file]

    def _of(self, file: Path) -> Said:
        if file not in self.known:
            self.known[file] = _read(file)
        return self.known[file]


def said(source: Source, scanned: Iterable[Finding]) -> Said:
    """Of a file with its findings: places that any device could stand in need nothing."""
    needs = [finding for finding in scanned if class_of(finding) == AUTO and not is_settled(source, finding)]
    return Said(written_for_npu(source), str(needs[0].place) if needs else "")


def _read(file: Path) -> Said:
    try:
        source = read(file)
        return said(source, scan_source(source))
    except (Unreadable, OSError):
        return Said(False)  # whoever reads it for its findings says so
