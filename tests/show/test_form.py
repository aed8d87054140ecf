"""The form: its first values are the parameters', what is changed is the variable's value, a table stands in for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import IPython.display
import pytest

from ascend_workbook.findings.sentence import say
from ascend_workbook.show import form
from ascend_workbook.show.boxed import HEADLESS
from ascend_workbook.show.card import MIME


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(HEADLESS, "0")
    monkeypatch.setattr(form, "_CHANGED", {})
    return iter([None])


def scope() -> dict[str, Any]:
    return {"lang": "zh", "script": "train.py", "device": "auto", "steps": 4, "compute": True, "other": 1}


NAMES = ("script", "device", "steps", "compute")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_control_has_its_label_and_the_parameters_value(lang: str) -> None:
    made = form.form_box({**scope(), "lang": lang}, *NAMES)
    assert {name: control.value for name, control in made.controls.items()} == {name: scope()[name] for name in NAMES}
    for name, control in made.controls.items():
        assert control.description == say(f"form.{name}", lang)
    assert [type(control).__name__ for control in made.controls.values()] == [
        "Text",
        "Dropdown",
        "BoundedIntText",
        "Checkbox",
    ]


def test_what_is_changed_is_what_the_cells_below_take() -> None:
    values = scope()
    made = form.form_box(values, *NAMES)
    made.controls["device"].value, made.controls["steps"].value = "cpu", 9
    assert (values["device"], values["steps"], values["script"]) == ("cpu", 9, "train.py")
    assert "设备、步数" in made.status.value and 'role="status"' in made.status.value


def test_run_again_a_change_stays_unless_the_parameter_was_edited() -> None:
    first = form.form_box(scope(), *NAMES)
    first.controls["steps"].value, first.controls["device"].value = 9, "cpu"
    values = {**scope(), "device": "npu"}
    again = form.form_box(values, *NAMES)
    assert (values["steps"], values["device"]) == (9, "npu") and again.controls["steps"].value == 9


def test_a_choice_that_is_none_of_the_known_is_kept() -> None:
    with pytest.raises(KeyError):  # no words for it: a device that nobody knows is refused by the verbs too
        form.form_box({**scope(), "device": "tpu"}, *NAMES)


@pytest.mark.parametrize("missing", ["reader", "ipywidgets"])
def test_without_a_reader_or_widgets_a_table_stands_there(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing == "reader":
        monkeypatch.setenv(HEADLESS, "1")
    else:
        monkeypatch.setitem(sys.modules, "ipywidgets", None)
    bundle = form.form_box(scope(), *NAMES)._repr_mimebundle_()
    assert bundle["text/plain"] == "script='train.py', device='auto', steps=4, compute=True"
    assert bundle[MIME] == {"parameters": {name: scope()[name] for name in NAMES}}
    assert bundle["text/html"].count("<tr>") == len(NAMES) and '<th scope="row"' in bundle["text/html"]


def test_the_table_is_what_a_notebook_without_its_kernel_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    form.form_box(scope(), *NAMES)._ipython_display_()
    assert "train.py" in shown[1]["text/html"] and "application/vnd.jupyter.widget-view+json" in shown[1]
