"""The parameters that a reader changes most, as a form: its first values are those of the parameters' cell.

What is changed is at once the value of the variable of that name, so the cells below use it. Without a reader, or
without ipywidgets, a table of the values stands in its place (ascend_workbook.show.boxed).
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from types import ModuleType
from typing import Any

from ascend_workbook.findings.sentence import choose_language, say
from ascend_workbook.show import template, themed
from ascend_workbook.show.boxed import HEADLESS, KEYS
from ascend_workbook.show.card import Shown

#: What a parameter can be, where that is a choice.
OPTIONS = {
    "device": ("auto", "npu", "npu-simulated", "cuda", "cpu"),
    "rewrite_mode": ("inject", "explicit"),
    "numerics": ("cpu", "ascend"),
}
#: What a number can usefully be, where a slider shows it better than a field.
SLIDERS: dict[str, tuple[float, ...]] = {
    "cards": tuple(1 << power for power in range(11)),
    "tokens": (1e8, 3e8, 1e9, 3e9, 1e10, 3e10, 1e11, 3e11, 1e12),
}
#: name -> the value in the parameters' cell, and what the reader made of it: kept where the cells are run again.
_CHANGED: dict[str, tuple[object, object]] = {}


def form_box(scope: MutableMapping[str, Any], *names: str) -> Any:
    """Make the form of these variables of a notebook (`globals()`)."""
    lang = choose_language(scope.get("lang"))
    values = {name: scope[name] for name in names}
    still = _render_still(values, lang)
    if os.environ.get(HEADLESS) == "1":
        return still
    try:
        import ipywidgets
    except ImportError:
        return still
    for name, value in values.items():
        if _CHANGED.get(name, (None,))[0] == value:
            scope[name] = _CHANGED[name][1]
    return Form(scope, names, values, lang, still, ipywidgets)


class Form:
    """A grid of controls, each with its label; below it, what was changed and how to go on."""

    def __init__(
        self,
        scope: MutableMapping[str, Any],
        names: tuple[str, ...],
        first_values: dict[str, Any],
        lang: str,
        still: Shown,
        widgets: ModuleType,
    ) -> None:
        self.scope, self.first_values, self.lang, self.still = scope, first_values, lang, still
        self.controls = {name: make_control(name, scope[name], lang, widgets) for name in names}
        self.status = widgets.HTML(value=self._tell())
        for name, control in self.controls.items():
            control.observe(lambda change, name=name: self._take(name, change["new"]), "value")
        layout = widgets.Layout(grid_template_columns="repeat(auto-fit, minmax(22em, 1fr))", grid_gap="2px 16px")
        self.box = widgets.VBox([widgets.GridBox([*self.controls.values()], layout=layout), self.status])

    def _take(self, name: str, value: object) -> None:
        self.scope[name] = value
        _CHANGED[name] = (self.first_values[name], value)
        self.status.value = self._tell()

    def _tell(self) -> str:
        changed = [
            say(f"form.{name}", self.lang) for name in self.first_values if self.scope[name] != self.first_values[name]
        ]
        words = say("form.changed", self.lang, names=changed) if changed else say("form.unchanged", self.lang)
        return str(template.render_template("told.html", words=words))

    def _ipython_display_(self) -> None:
        from IPython.display import display

        bundle = self.still._repr_mimebundle_()
        display({"application/javascript": KEYS, "text/plain": ""}, raw=True)
        display({**bundle, **(self.box._repr_mimebundle_() or {}), "text/plain": self.still.line}, raw=True)


def make_control(name: str, value: object, lang: str, widgets: ModuleType) -> Any:
    """Make the control of a variable; its label is bound to it, and keys work as in any form of a page."""
    options = OPTIONS.get(name, ())
    common = {
        "description": say(f"form.{name}", lang),
        "style": {"description_width": "9em"},
        "layout": widgets.Layout(width="auto"),
    }
    if options:
        choices = [(say(f"form.option.{option}", lang), option) for option in dict.fromkeys((*options, str(value)))]
        return widgets.Dropdown(options=choices, value=value, **common)
    if name in SLIDERS and isinstance(value, (int, float)):
        steps = sorted({*SLIDERS[name], value})
        return widgets.SelectionSlider(options=[(f"{step:,}", step) for step in steps], value=value, **common)
    if isinstance(value, float):
        return widgets.FloatText(value=value, **common)
    if isinstance(value, bool):
        return widgets.Checkbox(value=value, indent=True, **common)
    if isinstance(value, int):
        return widgets.BoundedIntText(value=value, min=0, max=10**6, **common)
    return widgets.Text(value=str(value), **common)


def _render_still(values: dict[str, Any], lang: str) -> Shown:
    rows = [(say(f"form.{name}", lang), name, "-" if value == "" else str(value)) for name, value in values.items()]
    html = template.render_template("form.html", rows=rows, lang=themed.LANGUAGES.get(lang, lang))
    line = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return Shown(str(html), line, {"parameters": values})
