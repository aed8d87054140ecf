"""A packed table says what the table says: every cell, in both languages, whatever it holds."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Column, Table
from ascend_workbook.findings.sentence import LANGUAGES, Sentence
from ascend_workbook.page import tables
from ascend_workbook.page.tables import pack_table, read_status
from ascend_workbook.page.texts import LONG
from ascend_workbook.show.cells import format_cell

SENTENCES = st.sampled_from([Sentence("report.not_looked"), Sentence("migration.class.auto"), Sentence("status.GOOD")])
CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(), st.text(max_size=80), SENTENCES,
    st.lists(st.integers(0, 999), max_size=4),
)  # fmt: skip


def read_cell(packed: dict[str, Any], column: dict[str, Any], row: int, lang: str) -> Any:
    value = row if "count" in column else column["values"][row]
    if column["kind"] != "text" and column["kind"] != "place":
        return value
    word = column["words"][value]
    if isinstance(word, dict):
        word = packed["notes"][word["note"] - 1]
    return word if isinstance(word, str) else word[LANGUAGES.index(lang)]


@given(st.lists(st.tuples(CELLS, CELLS), max_size=12))
def test_every_cell_is_there_in_both_languages(rows: list[tuple[Any, Any]]) -> None:
    columns = (Column("operator"), Column("seconds", "s"))
    packed = json.loads(json.dumps(pack_table(Table(columns, tuple(rows)))))
    assert packed["count"] == len(rows)
    for column, kept in zip(columns, packed["columns"]):
        for number, row in enumerate(rows):
            value = row[columns.index(column)]
            for lang in LANGUAGES:
                seen = read_cell(packed, kept, number, lang)
                if kept["kind"] != "number":
                    assert seen == format_cell(value, column, lang)
                elif isinstance(value, float) and not math.isfinite(value):
                    assert seen == str(value)
                elif isinstance(value, float):
                    assert seen == pytest.approx(value, rel=1e-5)
                else:
                    assert seen == value


def test_one_and_the_text_of_one_are_told_apart() -> None:
    packed = pack_table(Table((Column("seconds", "s"),), ((1,), ("1",), (True,))))
    words = [read_cell(packed, packed["columns"][0], row, "en") for row in range(3)]
    assert words == ["1 s", "1", "yes"]


def test_a_long_text_that_repeats_is_a_note_and_a_short_one_is_not() -> None:
    long, short = "x" * LONG, "y" * (LONG - 1)
    packed = pack_table(Table((Column("evidence"),), ((long,), (short,), (long,), (short,), ("z" * 90,))))
    assert packed["notes"] == [long] and packed["columns"][0]["words"] == [{"note": 1}, short, "z" * 90]


@pytest.mark.parametrize("status", list(Status))
def test_a_status_is_a_number_in_todays_words_and_in_older_ones(status: Status) -> None:
    expected = {Status.GOOD: 0, Status.NOTE: 0, Status.NOT_LOOKED: 1, Status.LOOK: 2, Status.FIX: 3}[status]
    old = dict(zip(Status, ("OK", "NOTE", "SKIPPED", "WARN", "FAIL")))[status]
    assert read_status(status.json) == read_status(old) == expected
    assert read_status("Fine") is None and read_status(None) is None


def test_a_column_that_counts_keeps_its_count_and_a_large_table_no_details(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LARGE", 5)
    columns = (Column("order"), Column("error_out"), Column("cosine", detail=True), Column("module", detail=True))
    rows = tuple((number, number * 1.23456789, 0.5, "layer1") for number in range(6))
    packed = pack_table(Table(columns, rows))
    assert [column["name"] for column in packed["columns"]] == ["order", "error_out", "module"]
    assert packed["columns"][0]["count"] == 6 and len(packed["left_out"]) == 1
    assert packed["columns"][1]["values"][1] == 1.235, "the digits that are shown"
    assert [column["name"] for column in pack_table(Table(columns, rows[:5]))["columns"]][2] == "cosine"
