"""Texts of a page: each in both languages, as [English, Chinese], or as one text where both are the same."""

from __future__ import annotations

from typing import Any, Callable, Union

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, say, show, title

Text = Union[str, "list[str]"]
#: Letters of a text that is told only once on a page.
LONG = 45


def in_both(tell: Callable[[str], str]) -> Text:
    """Return what `tell` says in each language."""
    texts = [tell(lang) for lang in LANGUAGES]
    return texts[0] if len(set(texts)) == 1 else texts


def say_both(key: str, **args: Scalar) -> Text:
    """Return the sentence `key` in each language."""
    return in_both(lambda lang: say(key, lang, **args))


def show_both(value: Any) -> Text:
    """Return a value as a reader of each language sees it."""
    return in_both(lambda lang: show(value, lang))


def title_both(name: str) -> Text:
    """Return a heading in each language."""
    return in_both(lambda lang: title(name, lang))


def is_long(text: Text) -> bool:
    """Return whether a text is too long to be told twice."""
    return any(len(each) >= LONG for each in ([text] if isinstance(text, str) else text))


def number_of(status: Status) -> int:
    """Return how a page writes a status: 0 Good, 1 Not looked, 2 Look, 3 Fix; a remark is Good."""
    return max(0, int(status) - 1)
