"""A prediction held against what was seen: told, never raised."""

from __future__ import annotations

from helpers.words import say


def predicted(what: str, guess: object, seen: object, lang: str | None = None) -> str:
    """One line: the parameter `what` held `guess`, and `seen` is what happened. No guess: an empty text, 0, None."""
    if guess in ("", 0, None):
        return say("course.prediction.none", lang, what=what, seen=str(seen))
    same = str(guess).strip().lower() == str(seen).strip().lower()
    key = "course.prediction.right" if same else "course.prediction.other"
    return say(key, lang, what=what, guess=str(guess), seen=str(seen))
