"""In what a passage and its translation differ. Each difference is one line that names both sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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


FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)")
HEADING = re.compile(r"^(#{1,6}) ", re.MULTILINE)
ITEM = re.compile(r"^ *(?:[-*]|\d{1,2}\.) ", re.MULTILINE)
CHINESE = re.compile("[\u4e00-\u9fff]")
NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z]-)\d+(?:[.,]\d+)*")
#: Names that stand in the text as they are: torch_npu, RANK_ID, PRF399.
NAME = re.compile(r"(?<!\w)(?:[A-Za-z]\w*_\w+|[A-Z]{3}\d{3})", re.ASCII)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DATE = re.compile(rf"(\d+) ({'|'.join(MONTHS)}) (\d{{4}})")
#: What is a word in English; and 29.5 万: Chinese counts in ten thousands.
POWER_OF_TWO = re.compile("2 的(?:幂|几次方)")
TEN_THOUSANDS = re.compile(r"(\d+(?:\.\d+)?) ?万")


@dataclass(frozen=True)
class Passage:
    """A cell, section or sentence; `text` is Markdown."""

    text: str

    @cached_property
    def fences(self) -> list[str]:
        """Return blocks of code without their comments, which are translated."""
        plain = (re.sub(r"\s*#.*| --lang zh", "", block) for block in FENCE.findall(self.text))
        return [re.sub("<[^>]*>", "<>", block).strip() for block in plain]

    @cached_property
    def unfenced(self) -> str:
        return FENCE.sub("", self.text)

    @cached_property
    def spans(self) -> set[str]:
        """Return what stands in `code`, on one line and with pages and folders of either language alike."""
        return {_neutral_place(re.sub(r"\s+", " ", match[1]).strip()) for match in SPAN.findall(self.unfenced)}

    @cached_property
    def prose(self) -> str:
        """Return the text without code and without the targets of links."""
        return LINK.sub("]", SPAN.sub(" ", self.unfenced))

    @cached_property
    def links(self) -> Counter[str]:
        return Counter(_neutral_place(target).partition("#")[0] or "#" for target in LINK.findall(self.unfenced))

    @cached_property
    def headings(self) -> list[int]:
        """Return the headings' levels, in order."""
        return [len(marks) for marks in HEADING.findall(self.unfenced)]

    @cached_property
    def items(self) -> int:
        return len(ITEM.findall(self.unfenced))

    @cached_property
    def table(self) -> list[int]:
        """Return the cells of each row of its tables."""
        rows = [line for line in SPAN.sub("x", self.unfenced).splitlines() if line.strip().startswith("|")]
        return [row.replace(r"\|", "").count("|") - 1 for row in rows]

    @cached_property
    def numbers(self) -> Counter[str]:
        """Return the numbers in digits, without those of list items and of names."""
        prose = DATE.sub(lambda match: f"{match[1]} {MONTHS.index(match[2]) + 1} {match[3]}", self.prose)
        prose = POWER_OF_TWO.sub("", prose)
        prose = TEN_THOUSANDS.sub(lambda match: f"{float(match[1]) * 10_000:.0f}", prose)
        prose = ITEM.sub("", NAME.sub(" ", prose))
        return Counter(number.replace(",", "") for number in NUMBER.findall(prose))

    @cached_property
    def names(self) -> set[str]:
        return set(NAME.findall(self.prose))

    @property
    def chinese(self) -> int:
        """Return the number of Chinese characters outside code."""
        return len(CHINESE.findall(self.prose))


def _neutral_place(place: str) -> str:
    """Return the place that stands for a page, notebook or site in either language."""
    place = re.sub("/(?:zh|en|LANG)(?=/|$)", "/_", place.replace(".zh-CN.md", ".md")).replace("-cn/", "-us/")
    return re.sub("(hiascend.com/document/detail/_)/[^/]+/[^/]+/", r"\1/", place)  # in one language for another edition
