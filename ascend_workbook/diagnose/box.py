"""Boxes of the notebooks: they build their options and call the verbs; there is no logic here.

In a run without a reader (papermill, nbval: ASCEND_WORKBOOK_HEADLESS=1), and where ipywidgets is not installed, there
is no box; what a parameter gave is answered all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ascend_workbook.diagnose import explain
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.show.boxed import make_box
from ascend_workbook.show.card import make_bundle


def explain_box(error_log: str = "", lang: str | None = None) -> object:
    """Explain `error_log` (a text, a code, or the path of a log) as a Report; without it, show a box to paste into.

    Without a box and without a text one line is printed, and None returned.
    """
    if error_log.strip():
        return explain(error_log.strip())
    empty = say("explain.box.empty", lang)
    box = make_box(_make_box, None, lang)
    if box is None:
        print(empty)
        return None
    return replace(box, asleep=empty)


def answer_text(text: str, lang: str | None = None) -> Report | str:
    """Return what the box shows for what was pasted: the report, or what is wrong with the input and the next step."""
    if not text.strip():
        return say("explain.box.nothing", lang)
    try:
        return explain(text.strip())
    except WorkbookError as error:
        return "\n".join(filter(None, (error.message(lang), error.hint(lang))))


def _make_box(widgets: Any, lang: str) -> Any:
    """Make a Textarea, a button and the place of the answer."""
    from IPython.display import display

    wide = widgets.Layout(width="98%", height="9em")
    name = {"description": say("form.error_log", lang), "style": {"description_width": "initial"}}
    pasted = widgets.Textarea(placeholder=say("explain.box.placeholder", lang), layout=wide, **name)
    button = widgets.Button(description=say("explain.box.button", lang), button_style="primary")
    shown = widgets.Output()

    def on_click(_: object) -> None:
        shown.clear_output()
        with shown:
            result = answer_text(pasted.value, lang)
            print(result) if isinstance(result, str) else display(make_bundle(result, lang), raw=True)

    button.on_click(on_click)
    return widgets.VBox([pasted, button, shown])
