"""What can be counted in a passage of Markdown, whatever language it is in."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

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
