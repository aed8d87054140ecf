"""`--expect`: the texts a scan saw. Edits are good for those only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Union

from helpers.errors import WorkbookError, reason
from helpers.migration.files import Tree
from helpers.migration.repair import REWRITE, class_of
from helpers.migration.rewrite.change import Change

LARGEST_BYTES = 256 << 20
Expected = Union["dict[str, str]", str, "os.PathLike[str]"]


def check(expect: Expected, where: Tree, changes: Iterable[Change]) -> None:
    """Raises WorkbookError for the first file whose text is not the one the scan saw."""
    hashes, root = ({**expect}, None) if isinstance(expect, dict) else _read(Path(expect))
    for change in changes:
        seen = hashes.get(_name(where, change, root))
        new = seen is None and any(class_of(finding) == REWRITE and finding.rule != "MIG131" for finding in change.made)
        if new or (seen is not None and seen != change.text_sha256):
            raise WorkbookError("migration.changed", path=change.name)


def _name(where: Tree, change: Change, root: Path | None) -> str:
    """The file's name as that scan called it: it may have looked at a folder above or below."""
    file = change.file.resolve()
    if root is not None and file.is_relative_to(root):
        return file.relative_to(root).as_posix()
    return change.name


def _read(file: Path) -> tuple[dict[str, str], Path | None]:
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
        raise WorkbookError("command.file", path=str(file), error=reason(cause)) from cause
    return hashes, Path(root) if isinstance(root, str) else None
