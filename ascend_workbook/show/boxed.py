"""A box of a notebook, and below it the same answer without one.

The answer below is all that is left where a notebook is read without its kernel, is not trusted, or was run without a
reader (papermill, nbval: ASCEND_WORKBOOK_HEADLESS=1), and where ipywidgets is not installed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable

from ascend_workbook.findings.registry import find_renderer
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language, say

HEADLESS = "ASCEND_WORKBOOK_HEADLESS"
#: In JupyterLab keys on a list or a box are commands: an arrow goes to the next cell, `dd` deletes this one. In this
#: part of the page they are the form's own.
KEYS = """setTimeout(() => {
  const area = element.closest('.jp-Cell-outputArea');
  area?.setAttribute('data-lm-suppress-shortcuts', 'true');
  area?.addEventListener('keydown', event => event.stopPropagation());
}, 100)"""


@dataclass(frozen=True)
class Boxed:
    """What a notebook's cell shows: `box`, an ipywidget or IPython's HTML, then `still`, which any reader can see
    (None: nothing). `asleep` is the sentence in the box's place where it cannot be drawn."""

    box: object
    still: object
    asleep: str
    lang: str

    def _ipython_display_(self) -> None:
        from IPython.display import display

        own_bundle = getattr(self.box, "_repr_mimebundle_", None)
        drawn = dict(own_bundle() or {}) if own_bundle else {"text/html": getattr(self.box, "data", "")}
        display({"application/javascript": KEYS, "text/plain": ""}, raw=True)
        display({**drawn, "text/plain": self.asleep}, raw=True)
        if isinstance(self.still, Report):
            display(find_renderer("bundle")(self.still, self.lang), raw=True)
        elif self.still is not None:
            display(self.still)


def make_box(make: Callable[[ModuleType, str], object], still: object, lang: str | None = None) -> Any:
    """Make a box with `make(ipywidgets, lang)`, or return `still` where there is no reader or no ipywidgets."""
    if os.environ.get(HEADLESS) == "1":
        return still
    try:
        import ipywidgets
    except ImportError:
        return still
    lang = choose_language(lang)
    return Boxed(make(ipywidgets, lang), still, say("box.asleep", lang), lang)
