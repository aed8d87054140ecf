"""A long report is told short: checks that did not look for one reason, a summary's own line, long cells."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.show import cells, template
from tests.page.reading import read_page, said_on, texts_of


def skipped(rule: str, key: str = "advice.no_npu") -> Finding:
    return Finding(rule, Status.NOT_LOOKED, key, {"topic": f"topic {rule}", "source": rule})


def report(*findings: Finding, shape: str = "") -> Report:
    table = Table((Column("operator", wrap=20), Column("shape")), (("x" * 50, shape),))
    return Report("profiling", "tuning", findings, table)


FOUR = (*(skipped(f"PRF36{number}") for number in range(3)), skipped("PRF369", "advice.no_host"))


@pytest.mark.parametrize(("lang", "said"), [("en", "3 checks: not looked at"), ("zh", "3 项检查：未检查")])
def test_checks_with_one_reason_are_one_line_and_none_is_lost(lang: str, said: str) -> None:
    told = report(*FOUR)
    text = told.text(lang)
    assert said in text and "--all" in text and "topic PRF361" not in text
    assert "topic PRF369" in text, "another reason is a line of its own"
    assert all(f"topic PRF36{number}" in told.text(lang, details=True) for number in range(3))
    (shown,) = read_page(told.html(lang))["tabs"].values()
    (folded,) = [finding for finding in shown["findings"] if "topics" in finding]
    assert said in "".join(texts_of([folded["text"]], lang)) and len(shown["findings"]) == 2
    assert folded["topics"] == [f"topic PRF36{number}" for number in range(3)], "on a page they open with a click"
    assert len(told.to_dict()["findings"]) == 4 and told.junit(lang).count("topic PRF36") >= 4


def test_printing_a_report_gives_its_text() -> None:
    told = report(*FOUR)
    assert str(told) == told.text()


def test_two_are_told_as_two() -> None:
    assert "2 checks" not in report(*FOUR[:2]).text("en")


def test_a_summary_does_not_stand_twice() -> None:
    head = Finding("PRF310", Status.NOT_LOOKED, "PRF310.no_advice", {"open": 7}, weight=1000.0)
    told = report(head, *FOUR)
    assert told.text("en").count("7 kinds") == told.html("en", page=False).count("7 kinds") == 1
    assert said_on(told.html("en")).count("7 kinds") == 1


def test_long_shapes_are_cut_and_whole_on_demand() -> None:
    shape = "[[64, 64], [1]]" * 20
    told = report(*FOUR, shape=shape)
    assert shape not in told.text("en") and shape[:59] + "…" in told.text("en")
    assert shape in told.text("en", details=True)
    assert f"{shape[:59]}…<" in told.html("en", page=False)
    assert shape in said_on(told.html("en")), "the page cuts what it shows, and has the whole"


def test_a_word_longer_than_its_column_goes_on_in_the_next_line() -> None:
    lines = report(*FOUR).text("en").splitlines()
    assert [line.split()[0] for line in lines if line.startswith("xx")] == ["x" * 20, "x" * 20, "x" * 10]


def linked(text: str) -> str:
    macros: Any = template.make_environment().get_template("macros.html").module
    return str(macros.linked(text))


def test_an_address_in_a_next_step_can_be_followed() -> None:
    said = linked("看 https://example.org/doc/a_b.html。又见（https://example.org/c/?x=1&y=2），<b>")
    assert said == (
        '看 <a href="https://example.org/doc/a_b.html" rel="noreferrer">a_b.html</a>。'
        '又见（<a href="https://example.org/c/?x=1&amp;y=2" rel="noreferrer">?x=1&amp;y=2</a>），&lt;b&gt;'
    )
    assert linked("no address: http://x, https://") == "no address: http://x, https://"


def test_a_shape_is_written_alike_in_all_languages() -> None:
    assert (
        cells.format_cell([8, 1, 3], Column("shape"), "zh")
        == cells.format_cell([8, 1, 3], Column("shape"), "en")
        == "8, 1, 3"
    )
    assert cells.format_cell([0, 3], Column("step"), "zh") == "0、3"


def test_of_a_long_curve_a_few_points_are_written_and_the_rest_counted() -> None:
    table = Table((Column("step"), Column("loss")), tuple((number, number / 2) for number in range(30)))
    told = Report("profiling", "tuning", (FOUR[0],), table, Chart("lines", "step", ("loss",)))
    steps = [line.split()[0] for line in told.text("en").splitlines() if line[:1].isdigit()]
    assert steps == ["0", "4", "8", "12", "17", "21", "25", "29", "22"], "the last is the sentence of how many are left"
    assert "22 more rows" in told.text("en")
    assert sum(line[:1].isdigit() for line in told.text("en", details=True).splitlines()) == 30
