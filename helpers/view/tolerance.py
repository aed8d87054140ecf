"""A slider over the tolerance: how many operators are out, which, and which is first, without comparing again.

Below it, and alone without widgets, a table over several factors.
"""

from __future__ import annotations

from html import escape
from typing import Any

from helpers.precision.views.factors import HIGHEST, LOWEST, Measure, beyond, measures, tolerances
from helpers.report import Report
from helpers.view import html
from helpers.view.boxed import boxed
from helpers.words import title


def tolerance_box(comparison: Report, lang: str | None = None) -> Any:
    """The slider with its answer above the Report of `tolerances`; without widgets that report alone."""
    return boxed(lambda widgets, told_in: _box(widgets, comparison, told_in), tolerances(comparison), lang)


def _box(widgets: Any, comparison: Report, lang: str) -> Any:
    found = measures(comparison)
    slider = widgets.FloatLogSlider(value=1.0, min=LOWEST, max=HIGHEST, step=0.1, description=title("factor", lang),
                                    readout_format=".3g", style={"description_width": "initial"},
                                    layout=widgets.Layout(width="98%"))  # fmt: skip
    told = widgets.HTML(answer(found, 1.0, lang), layout=widgets.Layout(width="98%"))

    def on_change(change: Any) -> None:
        told.value = answer(found, float(change["new"]), lang)

    slider.observe(on_change, "value")
    return widgets.VBox([slider, told])


def answer(found: list[Measure], factor: float, lang: str) -> str:
    """What stands under the slider: the sentence, and the operators that are out in order of execution."""
    report = beyond(found, factor)
    rows = html.table(report, lang)
    return (f'<div class="aw"><style>{html.STYLE}</style><p class="verdict">{escape(report.verdict(lang))}</p>'
            f'<div style="max-height:20em;overflow:auto">{rows}</div></div>')  # fmt: skip
