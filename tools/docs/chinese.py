"""Chinese for sentences that stand in English in the code, by the English: what changes there has none any more."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")


class NoChinese(KeyError):
    """A sentence without a translation."""

    def __str__(self) -> str:
        return f"{FILE.name} has no Chinese for: {self.args[0]}"


@cache
def table() -> dict[str, str]:
    found: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def translated(sentence: str, lang: str) -> str:
    """Raises NoChinese."""
    if lang == "en" or not sentence:
        return sentence
    try:
        return table()[sentence]
    except KeyError:
        raise NoChinese(sentence) from None
