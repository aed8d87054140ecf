"""`--expect`: the texts a scan saw. Edits are good for those only."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Union

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.repair import REWRITE, class_of
from ascend_workbook.migration.rewrite.change import Change
from ascend_workbook.migration.rewrite.out_folder import SHOWN
from ascend_workbook.migration.texts import read_text

LARGEST_BYTES = 256 << 20
Expected = Union["dict[str, str]", str, "os.PathLike[str]"]


def check(expect: Expected, where: Tree, changes: Collection[Change]) -> list[Finding]:
    """Report what is to be said of files that are edited and that the scan does not have.

    Raises WorkbookError for the first file whose text is not the one the scan saw, and where the scan is of other
    files altogether.
    """
    hashes, root = ({**expect}, None) if isinstance(expect, dict) else _read_expected_hashes(Path(expect))
    unknown: list[str] = []
    for change in changes:
        seen = hashes.get(_name_in_scan(change.name, change.file, root))
        if seen is not None and seen != change.text_sha256:
            raise WorkbookError("migration.changed", path=change.name)
        if seen is None and not _is_below(change.file, root):
            unknown.append(change.name)
    shown: dict[str, Scalar] = {"count": len(unknown), "names": unknown[:SHOWN], "more": "…" * (len(unknown) > SHOWN)}
    # a scan that found nothing has no text of any file: a script without CUDA, which gets its start alone
    if unknown and hashes and len(unknown) == len(changes) and not _is_of(hashes, where):
        raise WorkbookError("migration.other_scan", **shown)
    for change in changes:
        new = _name_in_scan(change.name, change.file, root) not in hashes
        if new and any(class_of(finding) == REWRITE and finding.rule != "MIG131" for finding in change.made):
            raise WorkbookError("migration.changed", path=change.name)
    return [Finding("MIG130", Status.NOTE, "MIG130.not_in_scan", shown)] if unknown else []


def _name_in_scan(name: str, file: Path, root: Path | None) -> str:
    """The file's name as that scan called it: it may have looked at a folder above or below."""
    return file.resolve().relative_to(root).as_posix() if root is not None and _is_below(file, root) else name


def _is_below(file: Path, root: Path | None) -> bool:
    return root is not None and file.resolve().is_relative_to(root)


def _is_of(hashes: dict[str, str], where: Tree) -> bool:
    """A file that needs no edit is one that the scan saw: a copy of its folder, where only a start script is edited."""
    for file in where.scanned_files:
        with suppress(Unreadable, OSError):
            name = where.name_of(file)
            if name in hashes and read_text(file, name).sha256 == hashes[name]:
                return True
    return False


def _read_expected_hashes(file: Path) -> tuple[dict[str, str], Path | None]:
    try:
        with file.open("rb") as stream:
            content: Any = json.loads(stream.read(LARGEST_BYTES))
        facts = content["facts"]
        hashes, root = facts["sha256"], facts.get("root")
        if not all(isinstance(item, str) for pair in hashes.items() for item in pair):
            raise TypeError("sha256")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
        raise WorkbookError("migration.no_scan", path=str(file)) from cause
    except OSError as cause:
        raise WorkbookError("command.file", path=str(file), error=explain_os_error(cause)) from cause
    return hashes, Path(root) if isinstance(root, str) else None
