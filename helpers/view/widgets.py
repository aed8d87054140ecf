"""Boxes of the notebooks: they build their options and call the verbs; there is no logic here.

In a run without a reader (papermill, nbval: ASCEND_WORKBOOK_HEADLESS=1), and where ipywidgets is not installed, there
is no box; what a parameter gave is answered all the same.
"""

from __future__ import annotations

import os
from typing import Any

from helpers.diagnosis import explain
from helpers.errors import WorkbookError
from helpers.report import Report
from helpers.words import say

HEADLESS = "ASCEND_WORKBOOK_HEADLESS"


def explain_box(error_log: str = "", lang: str | None = None) -> Any:
    """The answer to `error_log` (a text, a code, or the path of a log) as a Report; a box to paste into without it.

    Without a box and without a text one line is printed, and None returned.
    """
    if error_log.strip():
        return explain(error_log.strip())
    box = None if os.environ.get(HEADLESS) == "1" else _box(lang)
    if box is None:
        print(say("explain.box.empty", lang))
    return box


def answer(text: str, lang: str | None = None) -> Report | str:
    """What the box shows for what was pasted: the report, or what is wrong with the input and the next step."""
    try:
        return explain(*filter(None, [text.strip()]))
    except WorkbookError as error:
        return "\n".join(filter(None, (error.message(lang), error.hint(lang))))


def _box(lang: str | None) -> Any:
    """A Textarea, a button and the place of the answer; None where there are no widgets."""
    try:
        import ipywidgets as widgets
        from IPython.display import display
    except ImportError:
        return None
    wide = widgets.Layout(width="100%", height="9em")
    pasted = widgets.Textarea(placeholder=say("explain.box.placeholder", lang), layout=wide)
    button = widgets.Button(description=say("explain.box.button", lang), button_style="primary")
    shown = widgets.Output()

    def on_click(_: Any) -> None:
        shown.clear_output()
        with shown:
            found = answer(pasted.value, lang)
            print(found) if isinstance(found, str) else display(found)

    button.on_click(on_click)
    return widgets.VBox([pasted, button, shown])
