"""Where the two languages stand side by side: cells of notebook sources, pages and their sections, the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import load_catalogue
from tools.languages.differences import find_differences

ROOT = Path(__file__).resolve().parents[2]
CHINESE_PAGE = ".zh-CN.md"
#: Pages of measurements and of one language: why there is no other.
ENGLISH_ONLY = {
    "CHANGELOG.md": "a history for those who read the code",
    "docs/environment-machines.md": "written by a benchmark",
    "docs/public-scripts.md": "written by a benchmark",
    "docs/simulator-operators.md": "written by the simulator",
    "docs/simulated_npu.md": "switches for those who work on the simulator",
}


@dataclass(frozen=True)
class Pair:
    """A passage in both languages; an empty text is one that is missing."""

    file: str
    place: str
    english: str
    chinese: str

    @property
    def differences(self) -> list[str]:
        if not self.english or not self.chinese:
            return [f"no text in {'Chinese' if self.english else 'English'}"]
        return find_differences(self.english, self.chinese)


def list_sources() -> list[Path]:
    """Return the notebooks' sources, the course's included."""
    return sorted((ROOT / "notebooks" / "source").rglob("*.py"))


def list_pages() -> list[Path]:
    """Return English pages that people read."""
    folders = [ROOT / name for name in ("docs", "ascend_workbook", "notebooks")]
    candidates = [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))]
    return sorted(page for page in candidates if not page.name.endswith(CHINESE_PAGE))


def all_pairs() -> Iterator[Pair]:
    for source in list_sources():
        yield from pairs_in_notebook(source)
    for path in list_pages():
        if str(path.relative_to(ROOT)) not in ENGLISH_ONLY:
            yield from pairs_in_page(path)
    yield from pairs_in_catalogue()


def pairs_in_notebook(source: Path) -> Iterator[Pair]:
    """Yield the markdown cells in order; a code cell between them ends a group, so that nothing pairs across it."""
    import jupytext

    groups: list[dict[str, list[str]]] = [{"en": [], "zh": []}]
    for cell in jupytext.read(source).cells:
        if cell.cell_type == "markdown":
            for lang in groups[-1]:
                if cell.metadata.get("lang", lang) == lang:
                    groups[-1][lang].append(cell.source)
        else:
            groups.append({"en": [], "zh": []})
    cells = [pair for group in groups for pair in zip_longest(group["en"], group["zh"], fillvalue="")]
    for number, (english, chinese) in enumerate(cells, 1):
        yield Pair(str(source.relative_to(ROOT)), f"markdown cell {number}", english, chinese)


def pairs_in_page(path: Path) -> Iterator[Pair]:
    """Yield a page section by section: what stands between two headings."""
    other = path.with_name(path.name.removesuffix(".md") + CHINESE_PAGE)
    english = _split_sections(path)
    chinese = _split_sections(other) if other.is_file() else []
    for number, (left, right) in enumerate(zip_longest(english, chinese, fillvalue="")):
        title = (left or right).splitlines()[0].strip("# ")
        yield Pair(str(path.relative_to(ROOT)), f"section {number}: {title}", left, right)


def _split_sections(path: Path) -> list[str]:
    lines: list[str] = []
    fenced = False
    for line in path.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        lines.append("\0" + line if not fenced and re.match("#{1,6} ", line) else line)
    return [part for part in "\n".join(lines).split("\0") if part.strip()]


def pairs_in_catalogue() -> Iterator[Pair]:
    """Yield each sentence and each next step of the catalogue of ascend_workbook/locale."""
    words: Any
    for key, words in sorted(load_catalogue().items()):
        if key.startswith("name."):  # headings of a word or two, a column's unit among them
            continue
        for place, english, chinese in ((key, words.en, words.zh), (f"{key}, hint", words.hint_en, words.hint_zh)):
            if english or chinese:
                yield Pair("ascend_workbook/locale", place, english, chinese)
