"""A student's change of a script: pairs of old and new text, or the whole script."""

from __future__ import annotations

import ast

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.project import ROOT

SCRIPTS = ROOT / "notebooks" / "course" / "scripts"
LARGEST = 200_000


def original(name: str) -> str:
    """Return the script of a task as it was given."""
    return (SCRIPTS / name).read_text(encoding="utf-8")


def apply_edits(answer: object, before: str) -> str:
    """Return the changed script. Raises WorkbookError `course.edit.…` where there is none.

    Each old text of a pair must occur exactly once, as it is by then.
    """
    if isinstance(answer, (list, tuple)):
        text = before
        for number, pair in enumerate(answer, 1):
            if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
                raise WorkbookError("course.edit.pair", number=number)
            old, new = map(_normalize_lines, pair)
            count = text.count(old) if old else 0
            if count != 1:
                line = old.strip().split("\n")[0][:80]
                raise WorkbookError("course.edit.count", number=number, count=count, old=line)
            text = text.replace(old, new)
    elif isinstance(answer, str):
        text = _normalize_lines(answer)
    else:
        raise WorkbookError("course.edit.kind", given=type(answer).__name__)
    if text == before:
        raise WorkbookError("course.edit.unchanged")
    if len(text) > LARGEST:
        raise WorkbookError("course.edit.large", characters=LARGEST)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        where, why = getattr(error, "lineno", None) or 0, str(getattr(error, "msg", error))[:200]
        raise WorkbookError("course.edit.syntax", line=where, why=why) from error
    if "import torch" not in text:
        raise WorkbookError("course.edit.other")
    return text


def _normalize_lines(text: str) -> str:
    """Remove a byte order mark, and use the line ends of the scripts: an editor on Windows writes others."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")
