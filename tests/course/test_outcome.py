"""How an outcome is shown: as text and as HTML, in both languages."""

from __future__ import annotations

import pytest

from ascend_workbook.findings.sentence import Sentence
from course.exercises.outcome import NOT_YET, Outcome


def crashed() -> Outcome:
    why = {
        "say": "launch.failed_known",
        "args": {
            "error": "ValueError: <b>",
            "place": "script.py:3",
            "code": 1,
            "steps": 2,
            "cause": {"say": "known.oom"},
            "fix": {"hint": "known.oom"},
        },
    }
    return Outcome("env", NOT_YET, missing=(Sentence("course.run.failed", why=why),))


@pytest.mark.parametrize(("lang", "step"), [("en", "Next step: "), ("zh", "下一步：")])
def test_cause_and_next_step_are_lines_of_their_own(monkeypatch: pytest.MonkeyPatch, lang: str, step: str) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_LANG", lang)
    lines = str(crashed()).splitlines()
    assert all(line.startswith("    ") for line in lines[2:4]) and lines[3].startswith(f"    {step}")
    shown = crashed()._repr_html_()
    assert f"<br>&nbsp;&nbsp;&nbsp;&nbsp;{step}<code>npu-smi info</code>" in shown and "`" not in shown
    assert "&lt;b&gt;" in shown and "<b>" not in shown.partition("</b>")[2]


def test_what_stands_in_backticks_is_escaped_and_a_single_one_stays() -> None:
    shown = Outcome("env", NOT_YET, missing=(Sentence("course.trouble.raised", error="`<i>` and `"),))._repr_html_()
    assert "<code>&lt;i&gt;</code> and `" in shown
