"""What is gathered while a tree is rewritten."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.rewrite.change import Change
from ascend_workbook.migration.rewrite.ported import Ported

INJECT, EXPLICIT = MODES = ("inject", "explicit")


@dataclass
class Work:
    """What is to be done for a tree."""

    where: Tree
    mode: str
    changes: dict[str, Change] = field(default_factory=dict)
    left: list[Finding] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    #: Some file imports torch.
    torch: bool = False
    #: Places that run under transfer_to_npu only, and whether any file imports it.
    relying: list[Finding] = field(default_factory=list)
    imports: bool = False
    #: The scripts that import it (a notebook with its cells' tree), and those left without that load files by name.
    importing: list[tuple[Path, ast.Module | None]] = field(default_factory=list)
    loading: list[str] = field(default_factory=list)
    #: Which files say npu, and of the scripts around them those that are left so and those that still need cuda.
    ported: Ported = field(default_factory=Ported)
    already_npu: list[str] = field(default_factory=list)
    still_cuda: list[str] = field(default_factory=list)
    #: How many places of each class a scan finds in a file, and the file that is judged now.
    classes: dict[str, Counter[str]] = field(default_factory=dict)
    now: str = ""

    def count_scanned(self, scanned: list[Finding]) -> None:
        self.classes.setdefault(self.now, Counter()).update(map(class_of, scanned))
