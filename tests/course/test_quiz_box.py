"""The quiz to click: what is clicked is in the dictionary, marked as its text twin is, and nothing gives it away."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest

from ascend_workbook.findings.sentence import say
from ascend_workbook.show.boxed import HEADLESS, Boxed
from course.lessons.quiz import OPTIONS, QUIZZES, quiz
from course.lessons.quiz_box import Sheet, draw_quiz, quiz_box

NAMES = sorted(QUIZZES)


def parts(box: Any) -> tuple[list[Any], list[Any], Any, Any]:
    """Radio buttons, what marks each, the button and the score."""
    *rows, button, score = box.children
    return rows[1::3], rows[2::3], button, score


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_right_answers_have_the_full_score(name: str, lang: str) -> None:
    asked, answers = quiz(name), dict[str, str]()
    choices, marks, button, score = parts(draw_quiz(ipywidgets, asked, answers, lang))
    assert len(choices) == len(asked.answers) and {choice.value for choice in choices} == {None}
    for choice, letter in zip(choices, asked.answers.values()):
        choice.value = letter
    assert answers == dict(asked.answers) and score.value == ""
    button.click()
    assert say("course.quiz.score", lang, right=len(choices), count=len(choices)) in score.value
    assert all("✓" in mark.value for mark in marks)


def test_a_wrong_answer_gets_its_hint_and_no_right_one_is_shown() -> None:
    asked, answers = quiz("start"), {"matmul": "a"}
    choices, marks, button, score = parts(draw_quiz(ipywidgets, asked, answers, "en"))
    assert choices[0].value == "a", "what was answered before is chosen"
    button.click()
    assert asked.mark_answer("matmul", "a", "en") in marks[0].value and "✓" not in marks[0].value
    assert "no answer" in marks[1].value and "0 of 8" in score.value
    choices[0].value = asked.answers["matmul"]
    button.click()
    assert "✓" in marks[0].value and "1 of 8" in score.value


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_button_and_question_has_its_words(lang: str) -> None:
    asked = quiz("start")
    box = draw_quiz(ipywidgets, asked, {"matmul": "no letter"}, lang)
    choices, _, button, _ = parts(box)
    for question, choice in zip(asked.answers, choices):
        assert [letter for _, letter in choice.options] == list(OPTIONS) and say(
            asked.words + question, lang
        ) in choice.tooltip
        assert all(asked.option(question, letter, lang) in text for text, letter in choice.options)
    assert button.description == say("course.quiz.check", lang) and choices[0].value is None


def test_without_a_reader_it_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEADLESS, "1")
    sheet = quiz_box("start", {"matmul": "b"}, "en")
    assert isinstance(sheet, Sheet) and repr(sheet) == quiz("start").questions("en")
    assert "<details>" in sheet._repr_html_() and "[matmul]" in sheet._repr_html_()
    monkeypatch.delenv(HEADLESS)
    boxed = quiz_box("start", {}, "en")
    assert isinstance(boxed, Boxed) and isinstance(boxed.still, Sheet)
