"""The card: word, sentence, next step, few rows; facts beside it for tests; a chart in the theme's colours."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.show import card, themed
from tests.show.test_view import sample

LANGUAGES = ("en", "zh")


def visible(page: str) -> str:
    """What a reader reads, spaces as one."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)))


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("status", list(Status))
def test_the_word_the_sentence_and_the_next_step_come_first(status: Status, lang: str) -> None:
    report = replace(sample(), findings=(Finding("RUN400", status, "RUN400.stopped"),))
    page = card.render_fragment(report, lang)
    text, headline = visible(page), report.headline
    assert headline and headline.hint(lang)
    places = [text.index(part) for part in (status.word(lang), headline.message(lang), headline.hint(lang))]
    assert places == sorted(places)
    assert f'class="aw aw-card {status.json.split()[0]}"' in page and card.SIGNS[status.json] in text


def test_a_table_has_few_rows_and_the_rest_is_counted() -> None:
    table = Table((Column("operator"), Column("time", "ms")), tuple((f"op{n}", n / 8) for n in range(200)))
    page = card.render_fragment(replace(sample(), table=table), "en")
    assert page.count("<tr") == 1 + card.ROWS and "190 more in the report" in page
    short = card.show_report(replace(sample(), table=table), "en", short=True)
    assert "<table" not in short.html and short.facts["rows"] == 200


def test_the_row_that_is_pointed_out_is_among_them_and_marked() -> None:
    report = sample()
    assert report.chart
    table = Table((Column("operator"), Column("time", "ms")), tuple((f"op{n}", n / 8) for n in range(200)))
    page = card.render_fragment(replace(report, table=table, chart=replace(report.chart, mark="op150")), "en")
    assert re.findall(r'<tr class="mark"><td class="s">(\w+)', page) == ["op150"]


def test_of_many_checks_the_worst_are_shown_in_their_order() -> None:
    words = ["Good"] * 30
    words[20], words[25], words[3] = "Fix", "Look", "another word"
    table = Table((Column("check"), Column("status")), tuple((f"c{n}", word) for n, word in enumerate(words)))
    shown = [row[0] for row in card.choose_worst(table, card.ROWS).rows]
    assert shown == ["c0", "c1", "c2", "c4", "c5", "c6", "c7", "c8", "c20", "c25"]
    assert card.choose_worst(table, 30) == table


def test_remarks_are_few_too_and_say_where() -> None:
    wrong = [Finding("RUN400", Status.LOOK, "RUN400.stopped", place=Place(f"<{n}>.py", n + 1)) for n in range(9)]
    page = card.render_fragment(replace(sample(), findings=(*wrong,)), "en")
    assert page.count("<li>") == card.REMARKS and "&lt;2&gt;.py:3" in page and "3 more in the report" in page


def test_a_path_of_the_project_is_told_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Finding("MIG100", Status.FIX, "card.more", {"count": f"{card.PROJECT}notebooks/a.py"})
    monkeypatch.setattr(Finding, "hint", lambda finding, lang: f"`scan {card.PROJECT}notebooks/b.py`")
    text = visible(card.render_fragment(replace(sample(), findings=(wrong,)), "en"))
    assert "notebooks/a.py" in text and "scan notebooks/b.py" in text and card.PROJECT not in text


def test_what_a_test_compares_nobody_sees() -> None:
    bundle = sample()._repr_mimebundle_()
    assert sorted(bundle) == [card.MIME, "text/html", "text/plain"]
    assert bundle[card.MIME] == {
        "verb": "run",
        "status": Status.LOOK.json,
        "verdict": "RUN400.stopped",
        "ran_on": "",
        "simulated": False,
        "findings": {Status.LOOK.json: 1},
        "rows": 3,
    }
    assert "\n" not in bundle["text/plain"] and "RUN400.stopped" not in bundle["text/html"]


def test_a_simulated_device_is_a_tag_and_no_part_of_the_sentence() -> None:
    shown = card.show_report(replace(sample(), tier="npu-simulated"), "zh")
    assert '<span class="tag">模拟 NPU</span>' in shown.html and "[模拟" not in shown.html + shown.line


def test_a_page_is_linked_from_where_the_notebook_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "runs" / "a" / "index.html"
    assert 'href="runs/a/index.html"' in card.render_fragment(sample(), "en", page)
    monkeypatch.setenv(card.BESIDE, str(tmp_path / "runs" / "a" / "precision"))
    assert card.link_to(page) == "../index.html"
    assert "<a " not in card.render_fragment(sample(), "en")


def test_a_chart_takes_the_themes_colours_and_the_browsers_letters() -> None:
    drawn = themed.draw_themed(sample("lines", 1), "zh")
    assert "var(--jp-content-font-color1" in drawn and "时间" in drawn and "DejaVu" not in drawn
    colours = set(re.findall(r"(?:fill|stroke): (#\w+)", drawn))
    assert not colours & {"#ffffff", "#000000", themed.INK, themed.FAINT}, "nothing is white or black in both themes"
    assert drawn == themed.draw_themed(sample("lines", 1), "zh")


def test_two_charts_of_a_page_share_no_names() -> None:
    names = re.findall(r'id="(\w+)"', themed.draw_themed(sample(), "en") + themed.draw_themed(sample(value="b"), "en"))
    assert names and all(re.search(r"[0-9a-f]{10}", name) for name in names), "made of what they hold"


def test_where_styles_are_not_trusted_the_png_stands_in() -> None:
    """JupyterLab then strips styles and SVG: the part that they show is hidden by an attribute, the picture is not."""
    page = str(themed.render_chart(sample(), "en"))
    untrusted = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert '<div class="live" hidden></div><img class="still"' in untrusted and "display: block !important" in page


def test_a_chart_that_is_none_is_nothing() -> None:
    assert card.show_chart(Report("profiling", "run"), "en").html == ""
