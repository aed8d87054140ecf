"""A slider over the tolerance: how many operators are out, which, and which is first, without comparing again.

Below it, and alone without widgets, a table over several factors.
"""

from __future__ import annotations

from typing import Any

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import title
from ascend_workbook.precision.views.factors import (
    HIGHEST,
    LOWEST,
    Measure,
    read_measures,
    report_operators_out,
    tolerances,
)
from ascend_workbook.show import html, template
from ascend_workbook.show.boxed import make_box


def tolerance_box(comparison: Report, lang: str | None = None) -> Any:
    """Show the slider with its answer above the Report of `tolerances`; without widgets that report alone."""
    return make_box(lambda widgets, told_in: _make_box(widgets, comparison, told_in), tolerances(comparison), lang)


def _make_box(widgets: Any, comparison: Report, lang: str) -> Any:
    measures_taken = read_measures(comparison)
    slider = widgets.FloatLogSlider(
        value=1.0,
        min=LOWEST,
        max=HIGHEST,
        step=0.1,
        description=title("factor", lang),
        readout_format=".3g",
        style={"description_width": "initial"},
        layout=widgets.Layout(width="98%"),
    )
    answer_box = widgets.HTML(render_answer(measures_taken, 1.0, lang), layout=widgets.Layout(width="98%"))

    def on_change(change: Any) -> None:
        answer_box.value = render_answer(measures_taken, float(change["new"]), lang)

    slider.observe(on_change, "value")
    return widgets.VBox([slider, answer_box])


def render_answer(measures_taken: list[Measure], factor: float, lang: str) -> str:
    """Render what stands under the slider: the sentence, and the operators that are out in order of execution."""
    report = report_operators_out(measures_taken, factor)
    body = template.render_template(
        "tolerance.html", verdict=report.verdict(lang), table=html.render_table(report, lang)
    )
    return template.render_fragment(body)
