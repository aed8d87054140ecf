"""The box into which an error is pasted: the answer of `explain`, with and without a box."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from ascend_workbook.diagnose import box as widgets
from ascend_workbook.findings.report import Report
from ascend_workbook.show.boxed import HEADLESS
from ascend_workbook.show.card import make_bundle

OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1; 60.97 GiB total capacity)"


def test_a_parameter_is_answered_without_a_box() -> None:
    found = widgets.explain_box(f"  {OOM}\n")
    assert isinstance(found, Report) and found.facts["first"]["id"] == "oom"
    assert "AI core" in widgets.explain_box("507015").verdict("en")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_headless_and_empty_is_one_line(lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert widgets.explain_box("", lang) is None
    assert capsys.readouterr().out.count("\n") == 1


def test_the_box_answers_as_the_parameter_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(HEADLESS)
    pytest.importorskip("ipywidgets")
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda what, raw: shown.append(what))
    box = widgets.explain_box("", "en").box
    pasted, button, _ = box.children
    pasted.value = OOM
    button.click()
    assert shown[-1] == make_bundle(widgets.explain_box(OOM), "en")
    pasted.value = "runs/absent.log"
    button.click()
    assert len(shown) == 1 and "There is no file" in capsys.readouterr().out
    assert str(widgets.answer_text(" ", "en")).startswith("The box is empty. Paste")


@pytest.mark.parametrize("text", ["all is fine", "x" * 1_000_000, "\x00\x01", "<b>all</b> is <script>bad()"])
def test_a_text_without_a_known_error_says_what_to_do_next(text: str) -> None:
    found = widgets.answer_text(text, "en")
    assert isinstance(found, Report) and found.status.name == "NOTE"
    shown, page = found.text("en"), make_bundle(found, "en")["text/html"]
    assert "Give the log or the whole error message" in shown and "Give the log or the whole error message" in page
    assert len(shown) < 3000 and "<script>bad" not in page


def test_without_ipywidgets_there_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(HEADLESS)
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "ipywidgets":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert widgets.explain_box("", "en") is None and "error_log is empty" in capsys.readouterr().out
