"""A slider over the tolerance: how many operators are out and which is first, without comparing again.

In a run without a reader (papermill, nbval), and where ipywidgets is not installed, a table over several factors.
"""

from __future__ import annotations

import os
from typing import Any

from helpers.precision.views.factors import HIGHEST, LOWEST, measures, sentence, tolerances
from helpers.report import Report
from helpers.view.widgets import HEADLESS
from helpers.words import language as chosen
from helpers.words import show, title


def tolerance_box(comparison: Report, lang: str | None = None) -> Any:
    """The slider with its answer; without widgets the Report of `tolerances`, which shows the same as a table."""
    box = None if os.environ.get(HEADLESS) == "1" else _box(comparison, chosen(lang))
    return tolerances(comparison) if box is None else box


def _box(comparison: Report, lang: str) -> Any:
    try:
        import ipywidgets as widgets
    except ImportError:
        return None
    found = measures(comparison)
    slider = widgets.FloatLogSlider(value=1.0, min=LOWEST, max=HIGHEST, step=0.1, description=title("factor", lang),
                                    readout_format=".3g", layout=widgets.Layout(width="100%"))  # fmt: skip
    told = widgets.Label(show(sentence(found, 1.0), lang))

    def on_change(change: Any) -> None:
        told.value = show(sentence(found, float(change["new"])), lang)

    slider.observe(on_change, "value")
    return widgets.VBox([slider, told])
