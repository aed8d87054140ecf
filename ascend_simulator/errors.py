"""What the simulator says, in English and Chinese: the sentences of `locale/`, and the error that carries one."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path

LOCALE = Path(__file__).with_name("locale") / "simulator.toml"
LANGUAGES = ("en", "zh")
#: A table's heading or an entry of it: the file is TOML of one form, a sentence a table, JSON's escapes.
LINE = re.compile(r'^(?:\[(".*")\]|(\w+) = (".*"))$', re.MULTILINE)


class SimulatorError(Exception):
    """Something could not be done. `key` names the sentence of `locale/`, `arguments` fill it."""

    def __init__(self, key: str, **arguments: str | int | float) -> None:
        super().__init__(key, arguments)
        self.key = key
        self.arguments = arguments

    def message(self, lang: str | None = None) -> str:
        """Return what went wrong."""
        return say(self.key, lang, **self.arguments)

    def hint(self, lang: str | None = None) -> str:
        """Return the next step, or an empty string."""
        return fill_sentence(self.key, f"hint_{choose_language(lang)}", self.arguments)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.message(), self.hint())))


@cache
def read_sentences() -> dict[str, dict[str, str]]:
    """Return key -> {"en": ..., "zh": ..., "hint_en": ..., "hint_zh": ...}."""
    tables: dict[str, dict[str, str]] = {}
    for heading, name, text in LINE.findall(LOCALE.read_text(encoding="utf-8")):
        if heading:
            table = tables[json.loads(heading)] = {}
        else:
            table[name] = json.loads(text)
    return tables


def choose_language(wanted: str | None = None) -> str:
    """Return `zh` or `en`: as asked, else ASCEND_WORKBOOK_LANG, else the locale, else English."""
    names = ("ASCEND_WORKBOOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    asked = wanted or next(filter(None, (os.environ.get(name) for name in names)), "en")
    return "zh" if asked.startswith("zh") else "en"


def say(key: str, lang: str | None = None, /, **arguments: str | int | float) -> str:
    """Return the sentence in the language, its `{names}` filled."""
    return fill_sentence(key, choose_language(lang), arguments)


def fill_sentence(key: str, part: str, arguments: dict[str, str | int | float]) -> str:
    """Return one text of a sentence with its `{names}` filled; empty where the sentence has no such text."""
    return read_sentences()[key].get(part, "").format(**arguments)
