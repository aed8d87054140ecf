"""A prediction held against what was seen: told, never raised."""

from __future__ import annotations

from ascend_workbook.findings.sentence import say


def predicted(what: str, guess: object, happened: object, lang: str | None = None) -> str:
    """Return one line: the parameter `what` held `guess`, and what happened. No guess: an empty text, 0, None."""
    if guess in ("", 0, None):
        return say("course.prediction.none", lang, what=what, seen=str(happened))
    same = str(guess).strip().lower() == str(happened).strip().lower()
    key = "course.prediction.right" if same else "course.prediction.other"
    return say(key, lang, what=what, guess=str(guess), seen=str(happened))
