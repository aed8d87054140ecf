"""A student's change of a script: pairs of old and new text, or the whole script."""

from __future__ import annotations

import ast
from typing import Any

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.project import ROOT

SCRIPTS = ROOT / "notebooks" / "course" / "scripts"
LARGEST = 200_000


def original(name: str) -> str:
    """Return the script of a task as it was given."""
    return (SCRIPTS / name).read_text(encoding="utf-8")


def apply_edits(answer: object, before: str) -> tuple[str, Sentence | None]:
    """Return the changed script, or why there is none. Each old text of a pair must occur exactly once, as it is by
    then.
    """
    if isinstance(answer, (list, tuple)):
        text, trouble = _replace_pairs(answer, before)
        if trouble:
            return "", trouble
    elif isinstance(answer, str):
        text = _normalize_lines(answer)
    else:
        return "", Sentence("course.edit.kind", given=type(answer).__name__)
    if text == before:
        return "", Sentence("course.edit.unchanged")
    if len(text) > LARGEST:
        return "", Sentence("course.edit.large", characters=LARGEST)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        where = getattr(error, "lineno", None) or 0
        return "", Sentence("course.edit.syntax", line=where, why=str(getattr(error, "msg", error))[:200])
    if "import torch" not in text:
        return "", Sentence("course.edit.other")
    return text, None


def _normalize_lines(text: str) -> str:
    """Remove a byte order mark, and use the line ends of the scripts: an editor on Windows writes others."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _replace_pairs(pairs: Any, text: str) -> tuple[str, Sentence | None]:
    for number, pair in enumerate(pairs, 1):
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            return "", Sentence("course.edit.pair", number=number)
        old, new = map(_normalize_lines, pair)
        count = text.count(old) if old else 0
        if count != 1:
            return "", Sentence("course.edit.count", number=number, count=count, old=old.strip().split("\n")[0][:80])
        text = text.replace(old, new)
    return text, None
