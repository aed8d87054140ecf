"""The course's terms, Chinese and English side by side, each with what it means: one source for both languages."""

from __future__ import annotations

from ascend_workbook.findings.sentence import hint, load_catalogue, say

WORDS = "course.term."


def list_terms() -> list[str]:
    """Return the names of all terms, in teaching order."""
    return [key.removeprefix(WORDS) for key in load_catalogue() if key.startswith(WORDS)]


def glossary(lang: str | None = None) -> str:
    """Return a table in Markdown: the term in English, in Chinese, and its meaning in `lang`."""
    heads = (say("course.glossary.en", lang), say("course.glossary.zh", lang), say("course.glossary.meaning", lang))
    rows = ((say(WORDS + term, "en"), say(WORDS + term, "zh"), hint(WORDS + term, lang)) for term in list_terms())
    lines = (heads, ("---",) * 3, *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
