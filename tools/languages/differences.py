"""In what a passage and its translation differ. Each difference is one line that names both sides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tools.languages.passage import CHINESE, Passage

#: What is Chinese in an English text on purpose: the link to the other language, the words that the exercises print,
#: and what ModelArts' Chinese console calls an agency.
ALLOWED_CHINESE = ("中文", "未完成", "部分完成", "完成", "委托")
#: name -> attribute of Passage that must be equal
COMPARED = {
    "headings": "headings",
    "list items": "items",
    "table cells by row": "table",
    "code blocks": "fences",
    "code": "spans",
    "names": "names",
    "links": "links",
    "numbers": "numbers",
}
#: An English text of no more words than these may be the same in Chinese: `NPU {n}`, "import torch".
FEW_WORDS = 3
PLACEHOLDER = re.compile(r"\{.*?\}")


def find_differences(english: str, chinese: str) -> list[str]:
    """Return the differences, empty where the two agree in all that can be counted."""
    en, zh = Passage(english), Passage(chinese)
    return [*_compare_structure(en, zh), *_compare_languages(en, zh)]


def _compare_structure(en: Passage, zh: Passage) -> Iterator[str]:
    for what, attribute in COMPARED.items():
        left, right = getattr(en, attribute), getattr(zh, attribute)
        if attribute == "spans":  # what one side has in code, the other may have as a plain name, and so on
            left, right = (
                left - _spans_in_prose(left, zh) - _spans_filled(left - right, right),
                right - _spans_in_prose(right, en),
            )
            right = {span for span in right if not CHINESE.search(span)}
        if attribute == "names":
            left, right = left - _names_inside(left, zh), right - _names_inside(right, en)
        if left != right:
            yield f"{what}: en {_only_on_one_side(left, right)}, zh {_only_on_one_side(right, left)}"


def _spans_in_prose(spans: set[str], other: Passage) -> set[str]:
    return {
        span
        for span in spans
        if span not in other.spans and re.search(rf"(?<!\w){re.escape(span)}(?!\w)", other.unfenced, re.ASCII)
    }


def _spans_filled(english: set[str], chinese: set[str]) -> set[str]:
    """Return spans whose placeholder (FILE, <name>, PATH.NAME) has a Chinese word in the other language."""
    gaps = (re.split("<[^>]*[\u4e00-\u9fff][^>]*>|[\u4e00-\u9fff]+", span) for span in chinese if CHINESE.search(span))
    shapes = [re.compile(r"[A-Za-z_<][-\w>]*(?: [-\w<>]+)*".join(map(re.escape, parts))) for parts in gaps]
    return {span for span in english if any(shape.fullmatch(span) for shape in shapes)}


def _names_inside(names: set[str], other: Passage) -> set[str]:
    return {name for name in names if name in other.unfenced}


def _only_on_one_side(mine: Any, others: Any) -> Any:
    """Return what one side has and the other has not; both whole where order matters."""
    if isinstance(mine, (set, dict)):
        return sorted(mine - others) or "-"
    return mine


def _compare_languages(en: Passage, zh: Passage) -> Iterator[str]:
    prose = en.prose
    for word in ALLOWED_CHINESE:
        prose = prose.replace(word, "")
    characters = CHINESE.findall(prose)
    if characters:
        yield f"Chinese in the English text: {''.join(characters)}"
    if not zh.chinese and len(PLACEHOLDER.sub("", en.prose).split()) > FEW_WORDS:
        yield "no Chinese in the Chinese text"
    mixed = re.findall(r"[\u4e00-\u9fff][,;!?](?!\w)|[\u4e00-\u9fff]\.(?=\s|$)", zh.prose)
    if mixed:
        yield f"half-width punctuation behind Chinese: {mixed}"
