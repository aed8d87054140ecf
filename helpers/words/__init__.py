"""Every sentence a user reads, in English and Chinese, by key.

Reports and findings keep the key and its arguments; the sentence is made here when it is shown, so one
report reads in either language. Each part of the product has its own catalogue module beside this file.
"""

from __future__ import annotations

import os
import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from string import Formatter
from typing import Any, Union

LANGUAGES = ("en", "zh")
#: What an argument of a sentence may be; a mapping `{"say": key, "args": {...}}` is itself a sentence, and with "hint"
#: in place of "say" that sentence's next step.
Scalar = Union[str, int, float, bool, None, "list[Any]", "dict[str, Any]"]


@dataclass(frozen=True)
class Words:
    """One sentence in both languages and, where there is one, the next step."""

    en: str
    zh: str
    hint_en: str = ""
    hint_zh: str = ""


@cache
def catalogue() -> dict[str, Words]:
    """All sentences of all parts. A key that two parts define is an error."""
    merged: dict[str, Words] = {}
    for module in pkgutil.iter_modules(__path__):
        part: dict[str, Words] = import_module(f"{__name__}.{module.name}").WORDS
        twice = merged.keys() & part.keys()
        if twice:
            raise ValueError(f"helpers/words/{module.name}.py defines again: {sorted(twice)}")
        merged.update(part)
    return merged


def language(wanted: str | None = None) -> str:
    """`zh` or `en`: as asked, else ASCEND_WORKBOOK_LANG, else the locale, else English."""
    if wanted:
        if wanted not in LANGUAGES:
            raise ValueError(f"language {wanted!r}: expected one of {', '.join(LANGUAGES)}")
        return wanted
    told = os.environ.get("ASCEND_WORKBOOK_LANG")
    if told in LANGUAGES:
        return str(told)
    places = (os.environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, places), "").startswith("zh") else "en"


def say(key: str, lang: str | None = None, /, **args: Scalar) -> str:
    """The sentence `key` in the language, its `{names}` filled from `args`."""
    return _fill(key, language(lang), "", args)


def hint(key: str, lang: str | None = None, /, **args: Scalar) -> str:
    """The next step that belongs to the sentence, or an empty string."""
    return _fill(key, language(lang), "hint_", args)


def title(name: str, lang: str | None = None) -> str:
    """The heading of a table column, chart axis or stage."""
    return say(f"name.{name}", lang)


def _fill(key: str, lang: str, kind: str, args: dict[str, Scalar]) -> str:
    try:
        template: str = getattr(catalogue()[key], kind + lang)
    except KeyError:
        raise KeyError(f"no words for {key!r} in helpers/words/") from None
    return template.format(**{name: show(value, lang) for name, value in args.items()})


def completed(key: str, args: dict[str, Scalar]) -> dict[str, Scalar]:
    """The arguments of a sentence that an older version kept: those that today's sentence has besides are unknown."""
    words = catalogue().get(key)
    texts = (words.en, words.zh, words.hint_en, words.hint_zh) if words else ()
    named = (name.partition(".")[0].partition("[")[0] for text in texts for _, name, _, _ in Formatter().parse(text)
             if name)  # fmt: skip
    return {**dict.fromkeys(named), **args}


def show(value: Scalar, lang: str) -> str:
    """One value as a reader sees it: lists joined, floats to 4 significant digits, sentences said."""
    if isinstance(value, dict) and "hint" in value:
        return hint(value["hint"], lang, **value.get("args", {}))
    if isinstance(value, dict):
        return say(value["say"], lang, **value.get("args", {}))
    if isinstance(value, (list, tuple)):
        return ("、" if lang == "zh" else ", ").join(show(item, lang) for item in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else str(value)
