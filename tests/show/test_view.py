"""Text, HTML and charts show the same facts; the page opens offline; missing values are not zeros."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import CHART_KINDS, Chart, Column, Listing, Report, Table
from ascend_workbook.profiling.export.files import report_flame
from ascend_workbook.profiling.facts import load_profile
from ascend_workbook.profiling.timeline.report import report_timeline
from ascend_workbook.show import card, charts, text
from ascend_workbook.show.chinese_font import find_cjk_font
from tests.page.reading import read_page, said_on
from tests.profiling.conftest import DATA


def sample(kind: str = "bars", value: object = "<b>中文</b>") -> Report:
    rows = ((value, 1.5, "Good"), ("mul", None, "Fix"), ("sub", 0.25, "Look"))
    table = Table((Column("operator"), Column("time", "ms"), Column("status")), rows)  # type: ignore[arg-type]
    y = ("status",) if kind == "strip" else ("time",)
    found = Finding("RUN400", Status.LOOK, "RUN400.stopped")
    return Report(
        "profiling",
        "run",
        (found,),
        table,
        Chart(kind, "operator", y, "ms", limit="time", by="status" if kind == "heat" else ""),
        Listing("code", "+a\n-b", "diff"),
    )


def test_text_shows_units_and_gaps() -> None:
    shown = text.render_text(sample(), "en")
    assert "1.5 ms" in shown and re.search(r"mul +- ", shown) and "goes on from there." in shown


def test_columns_line_up_with_chinese() -> None:
    lines = text.render_text(sample(value="算子算子"), "zh").splitlines()
    first, other = (next(line for line in lines if line.startswith(name)) for name in ("算子算子", "sub"))
    assert text.text_width(first[: first.index("1.5")]) == text.text_width(other[: other.index("0.25")])


def test_html_escapes_and_stands_alone() -> None:
    page = sample().html("zh")
    assert "<b>中文" not in page and "<b>中文</b>" in said_on(page, "zh")
    assert 'charset="utf-8"' in page and 'lang="zh-CN"' in page
    assert not re.search(r'(src|href)="[^"]*//', page) and "@import" not in page
    (shown,) = read_page(page)["tabs"].values()
    assert (shown["chart"]["kind"], shown["listing"]["language"]) == ("bars", "diff")


def test_a_cell_escapes_and_runs_no_script() -> None:
    cell = card.render_fragment(sample(), "zh")
    assert "<b>中文" not in cell and "&lt;b&gt;中文" in cell
    assert not re.search(r'(src|href)="(?!data:)[^"]*//', cell) and "<script" not in cell
    assert "-b" in cell


def test_html_is_well_formed() -> None:
    class Checker(HTMLParser):
        stack: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "img", "br", "link"):
                self.stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.stack.pop() == tag

    for markup in (sample().html("en"), card.render_fragment(sample(), "en")):
        checker = Checker()
        checker.feed(markup)
        assert checker.stack == []


def test_the_notebook_form_has_no_picture() -> None:
    assert "<img" not in sample()._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("kind", [kind for kind in CHART_KINDS if kind not in charts.PICTURES])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_kind_draws(kind: str, lang: str, recwarn: pytest.WarningsRecorder) -> None:
    figure = charts.draw_chart(sample(kind, "算子" if find_cjk_font() else "add"), lang)
    figure.savefig("/dev/null", format="png")
    assert figure.get_facecolor()[:3] == (1.0, 1.0, 1.0)
    assert not [str(w.message) for w in recwarn if "Glyph" in str(w.message)]


def test_no_column_of_a_curve_is_left_undrawn() -> None:
    names = tuple(
        f"kind_{kind}" for kind in ("weights", "gradients", "optimizer", "activations", "temporary", "reserved")
    )
    table = Table((Column("step"), *map(Column, names)), tuple((step, *range(1, 7)) for step in range(3)))
    (axes,) = charts.draw_chart(Report("profiling", "run", table=table, chart=Chart("lines", "step", names)), "en").axes
    assert len(axes.lines) == 6
    parts = Chart("lines", "step", names, limit="kind_reserved")
    (axes,) = charts.draw_chart(Report("profiling", "run", table=table, chart=parts), "en").axes
    assert len(axes.lines) == 1 and len(axes.collections) == 5
    assert axes.collections[4].get_datalim(axes.transData).y1 == 15, "areas lie on one another"


def test_a_cell_of_a_pair_shows_its_least() -> None:
    rows = ((0, 1, 5.0), (0, 1, 3.0), (10, 1, None), (2, 0, 9.0), ("a", 0, 1.0))
    table = Table((Column("link_from"), Column("link_to"), Column("link_speed", "GB/s")), rows)
    chart = Chart("heat", "link_to", ("link_speed",), "GB/s", by="link_from")
    axes, _ = charts.draw_chart(Report("profiling", "links", table=table, chart=chart), "en").axes
    (image,) = axes.images
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "2", "10", "a"], (
        "numbers by size, then texts"
    )
    assert np.ma.filled(image.get_array(), -1).tolist() == [[-1, 3], [9, -1], [-1, -1], [1, -1]]
    assert sorted(text.get_text() for text in axes.texts) == ["1", "3", "9"]


@pytest.mark.parametrize("value", [0.0, None])
@pytest.mark.parametrize("kind", [kind for kind in CHART_KINDS if kind not in {*charts.PICTURES, "strip"}])
def test_a_row_with_nothing_to_draw_draws(kind: str, value: float | None, recwarn: pytest.WarningsRecorder) -> None:
    table = Table((Column("operator"), Column("time", "ms")), (("add", value),))
    for log in (False, True):
        by = "operator" if kind == "heat" else ""
        chart = Chart(kind, "operator", ("time",), "ms", limit="time", log=log, by=by)
        charts.draw_chart(Report("profiling", "run", table=table, chart=chart), "en").savefig("/dev/null", format="png")
    assert not [str(w.message) for w in recwarn]


@pytest.mark.parametrize("colourful", [10**6, 2])
def test_a_picture_takes_little_and_looks_the_same(colourful: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "COLOURFUL", colourful)
    figure, whole, saved = charts.draw_chart(sample("bars"), "en"), io.BytesIO(), io.BytesIO()
    figure.savefig(whole, format="png", dpi=110, facecolor="white")
    charts.save_png(figure, saved)
    pictures = [np.asarray(Image.open(one).convert("RGB")).astype(int) for one in (whole, saved)]
    assert np.abs(pictures[0] - pictures[1]).max() <= 16 and (pictures[1][0, 0] == 255).all()
    assert (2 * saved.getbuffer().nbytes < whole.getbuffer().nbytes) == (colourful > 2)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_pictures_of_facts_draw(lang: str, recwarn: pytest.WarningsRecorder) -> None:
    profile = load_profile(DATA / "timeline_ascend_pt")
    for report in (report_timeline(profile), report_flame(profile)):
        charts.draw_chart(report, lang).savefig("/dev/null", format="png")
    assert not [str(w.message) for w in recwarn]
    assert charts.describe_chart(report_timeline(profile)) == "lanes by time: 17 boxes in 7 lanes"


def test_stacked_bars_stand_on_one_another() -> None:
    table = Table((Column("step"), Column("time", "ms"), Column("share", "ms")), ((1, 2.0, 3.0), (2, 1.0, None)))
    chart = Chart("stacks", "step", ("time", "share"), "ms")
    bars = charts.draw_chart(Report("profiling", "run", table=table, chart=chart), "en").axes[0].patches
    assert [(bar.get_y(), bar.get_height()) for bar in bars] == [(0, 2), (0, 1), (2, 3), (1, 0)]


def test_a_gap_is_not_a_zero() -> None:
    bars = charts.draw_chart(sample(), "en").axes[0].patches
    assert [str(bar.get_width()) for bar in bars] == ["1.5", "nan", "0.25"]


def test_chart_facts_tell_a_changed_curve() -> None:
    before = charts.describe_chart(sample())
    assert before == "bars by operator: time (2 points 0.25..1.5)"
    report = sample()
    assert report.table
    changed = Table(report.table.columns, (("a", 3.0, "Good"),))
    assert charts.describe_chart(Report("profiling", "run", table=changed, chart=report.chart)) != before


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_wrapped_cell_goes_on_in_the_next_line(lang: str) -> None:
    """Nothing is lost, no line is wider than asked, and the columns after it stay in line."""
    sentence = "NPU 显存已满，请减小 batch 或启用重计算。" * 3 if lang == "zh" else "word and another word, " * 9
    table = Table((Column("operator", wrap=24), Column("time", "ms")), ((sentence.strip(), 1.5), ("mul", None)))
    lines = text.render_text(Report("profiling", "run", table=table), lang).splitlines()
    body = lines[lines.index(next(line for line in lines if set(line) == {"-", " "})) + 1 :]
    cells = [line if "1.5" not in line else line[: line.index("1.5")] for line in body[:-1]]
    assert "".join(cells).replace(" ", "") == sentence.replace(" ", "")
    assert all(text.text_width(cell.rstrip()) <= 26 for cell in cells) and len(cells) > 3
    assert body[0].endswith("1.5 ms") and body[-1].startswith("mul")
