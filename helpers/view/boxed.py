"""A box of a notebook, and below it the same answer without one.

The answer below is all that is left where a notebook is read without its kernel, is not trusted, or was run without a
reader (papermill, nbval: ASCEND_WORKBOOK_HEADLESS=1), and where ipywidgets is not installed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable

from helpers.report import Report
from helpers.words import language, say

HEADLESS = "ASCEND_WORKBOOK_HEADLESS"


@dataclass(frozen=True)
class Boxed:
    """What a notebook's cell shows: `box`, an ipywidget or IPython's HTML, then `still`, which any reader can see
    (None: nothing). `asleep` is the sentence in the box's place where it cannot be drawn."""

    box: Any
    still: Any
    asleep: str
    lang: str

    def _ipython_display_(self) -> None:
        from IPython.display import display

        own = getattr(self.box, "_repr_mimebundle_", None)
        drawn = dict(own() or {}) if own else {"text/html": self.box.data}
        display({**drawn, "text/plain": self.asleep}, raw=True)
        if isinstance(self.still, Report):
            display(bundle_of(self.still, self.lang), raw=True)
        elif self.still is not None:
            display(self.still)


def bundle_of(report: Report, lang: str) -> dict[str, str]:
    """A report as a notebook shows it, in this language."""
    from helpers.view.html import fragment  # which shows timelines, which are boxed

    return {"text/html": fragment(report, lang), "text/plain": report.text(lang)}


def boxed(make: Callable[[Any, str], Any], still: Any, lang: str | None = None) -> Any:
    """`make` gets ipywidgets and the language and gives the box; without a reader or ipywidgets `still` alone."""
    if os.environ.get(HEADLESS) == "1":
        return still
    try:
        import ipywidgets
    except ImportError:
        return still
    lang = language(lang)
    return Boxed(make(ipywidgets, lang), still, say("box.asleep", lang), lang)
