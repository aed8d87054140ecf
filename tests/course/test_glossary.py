"""The glossary has every term in both languages, and the lessons' own words are in it."""

from __future__ import annotations

import re

import pytest

from ascend_workbook.findings import sentence as words
from course.lessons.glossary import WORDS, glossary, list_terms


@pytest.mark.parametrize("term", list_terms())
def test_each_term_has_both_names_and_both_meanings(term: str) -> None:
    entry = words.load_catalogue()[WORDS + term]
    assert entry.en and entry.zh and not re.search("[\u4e00-\u9fff]", entry.en + entry.hint_en)
    assert re.search("[\u4e00-\u9fff]", entry.hint_zh) and entry.hint_en


@pytest.mark.parametrize("lang", words.LANGUAGES)
def test_the_table_has_a_row_for_each_term(lang: str) -> None:
    lines = glossary(lang).splitlines()
    assert len(lines) == len(list_terms()) + 2 > 25
    assert all(re.fullmatch(r"\|( [^|]+ \|){3}", line) for line in lines)


def test_both_tables_name_the_same_terms_and_explain_them_in_their_language() -> None:
    en, zh = ([line.split(" | ") for line in glossary(lang).splitlines()[2:]] for lang in words.LANGUAGES)
    assert [row[:2] for row in en] == [row[:2] for row in zh]
    assert all(mine[2] != theirs[2] for mine, theirs in zip(en, zh))
