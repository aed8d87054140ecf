"""The error curve keeps the worst, the first divergence and the zeros at any length, and says what it left out."""

from __future__ import annotations

import io
import math

import pytest

from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.views import error_curve
from ascend_workbook.show import charts
from tests.page.reading import read_page

COLUMNS = ("order", "step", "rank", "operator", "direction", "error_out", "allowed")


def curve(errors: list[Scalar], *, mark: Scalar = None, allowed: float = 2e-6) -> Report:
    half = len(errors) / 2
    rows = tuple(
        (at, 0, 0, f"Functional.conv2d.{at}.x", "forward" if at < half else "backward", error, allowed)
        for at, error in enumerate(errors)
    )
    chart = Chart("errors", "order", ("error_out",), mark=mark, by="direction", limit="allowed")
    return Report("precision", "compare", table=Table(tuple(map(Column, COLUMNS)), rows), chart=chart)


def test_forward_and_backward_are_apart_and_the_first_divergence_is_marked() -> None:
    axes = charts.draw_chart(curve([1e-7, 1e-7, 1e-3, 1e-3], mark=2), "en").axes[0]
    assert axes.get_yscale() == "log" and axes.get_ylabel() == "Relative L2 error"
    lines = {line.get_label(): line for line in axes.lines}
    assert {"forward", "backward", "Allowed"} <= lines.keys()
    assert list(lines["forward"].get_xdata()) == [0, 1] and list(lines["backward"].get_xdata()) == [2, 3]
    assert [text.get_text() for text in axes.texts] == ["first divergence: Functional.conv2d.2.x"]
    assert any(line.get_color() == error_curve.RED and line.get_xdata()[0] == 2 for line in axes.lines)


def test_equal_numbers_lie_at_a_zero_and_what_is_not_told_nowhere() -> None:
    axes = charts.draw_chart(curve([0.0, None, "inf", 1e-4]), "en").axes[0]
    assert "0 " in [text.get_text() for text in axes.texts]
    drawn = [point.x for point in error_curve.read_points(Chart("errors", "order", ("error_out",), limit="allowed"),
                                                     curve([0.0, None, "inf", 1e-4]).table)]  # type: ignore[arg-type] # fmt: skip
    assert drawn == [0, 2, 3]
    assert max(axes.lines[1].get_ydata()) <= axes.get_ylim()[1], "infinity stays inside the picture"


def test_of_thirty_thousand_the_worst_remain() -> None:
    errors: list[Scalar] = [1e-7] * 30_000
    errors[12_345] = 0.5
    report = curve(errors, mark=12_345)
    axes = charts.draw_chart(report, "en").axes[0]
    forward = next(line for line in axes.lines if line.get_label() == "forward")
    assert len(forward.get_xdata()) <= error_curve.COLUMNS and max(forward.get_ydata()) == 0.5
    assert "the worst of 60" in axes.get_xlabel()
    stream = io.BytesIO()
    charts.save_svg(charts.draw_chart(report, "zh"), stream)
    assert len(stream.getvalue()) < 300_000 and b"<text" not in stream.getvalue(), "letters need no font"


def test_the_facts_count_what_is_beyond() -> None:
    said = charts.describe_chart(curve([1e-7, 1e-7, 1e-3, 0.0], mark=2))
    assert said == (
        "errors by order: forward (2 points 1e-07..1e-07, 0 above allowed),"
        " backward (2 points 0..0.001, 1 above allowed), mark 2"
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_has_the_points_that_it_draws(lang: str) -> None:
    report = curve([1e-7, 1e-3], mark=1)
    page = report.html(lang)
    (shown,) = read_page(page)["tabs"].values()
    columns = {column["name"]: column["values"] for column in shown["table"]["columns"]}
    assert (columns["error_out"], columns["allowed"]) == ([1e-7, 1e-3], [2e-6, 2e-6])
    assert (shown["chart"]["kind"], shown["chart"]["mark"]) == ("errors", 1)
    assert page == report.html(lang), "equal reports give equal pages"


def test_a_series_is_broken_where_the_other_runs() -> None:
    made = [error_curve.Point(at, 1.0, 1.0, at) for at in range(8)]
    line = error_curve._break_line([*made[:3], *made[6:]], made)
    assert [point.x for point in line if not math.isnan(point.error)] == [0, 1, 2, 6, 7] and len(line) == 6
