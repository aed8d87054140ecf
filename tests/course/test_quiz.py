"""Quizzes tell right from not yet, give the hint but not the answer, and never raise for what a student types."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_workbook.findings import sentence as words
from ascend_workbook.findings.errors import WorkbookError
from course.lessons.quiz import OPTIONS, QUIZZES, quiz

NAMES = sorted(QUIZZES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lang", words.LANGUAGES)
def test_right_answers_are_right(name: str, lang: str) -> None:
    asked = quiz(name)
    lines = asked.marked(asked.answers, lang).splitlines()
    assert len(asked.answers) in range(6, 11)
    assert all(line.endswith({"en": "right", "zh": "正确"}[lang]) for line in lines[:-1])
    assert lines[-1].count(str(len(asked.answers))) == 2


@pytest.mark.parametrize("name", NAMES)
def test_every_wrong_letter_gets_the_hint_and_not_the_answer(name: str) -> None:
    asked = quiz(name)
    for question, answer in asked.answers.items():
        for letter in set(OPTIONS) - {answer}:
            line = asked.marked({question: letter}, "en").splitlines()[list(asked.answers).index(question)]
            assert "not yet: " in line and words.hint(asked.words + question, "en") in line
            assert words.say(f"{asked.words}{question}_{answer}", "en") not in line
        assert words.hint(asked.words + question, "zh")


@pytest.mark.parametrize("given", ["", None, "z", "ab", 3, [], "the Cube unit"])
def test_what_is_no_letter_is_unanswered(given: object) -> None:
    told = {lang: quiz("start").marked({"matmul": given}, lang).splitlines()[0] for lang in words.LANGUAGES}
    assert told["en"].endswith("no answer") and "未完成" in told["zh"]


def test_letters_are_taken_as_people_type_them() -> None:
    for typed in (" B ", "Ｂ", "ｂ。"):
        assert quiz("start").marked({"matmul": typed}, "en").splitlines()[0].endswith("right"), typed


@pytest.mark.parametrize("given", ["bbbb", ["b"], None])
def test_what_is_no_dict_is_told_and_nothing_is_right(given: Any) -> None:
    told = quiz("start").marked(given, "en")
    assert type(given).__name__ in told.splitlines()[0] and "{'matmul': 'b'}" in told and told.endswith("0 of 8 right")


def test_a_name_that_is_not_asked_is_told() -> None:
    told = quiz("start").marked({"matmull": "b"}, "en")
    assert "matmull" in told and told.endswith("0 of 8 right")


def test_an_unknown_quiz_is_an_error() -> None:
    with pytest.raises(WorkbookError, match="start"):
        quiz("stop")


@pytest.mark.parametrize("name", NAMES)
def test_options_differ_and_no_letter_is_always_right(name: str) -> None:
    asked = quiz(name)
    for question in asked.answers:
        assert len({words.say(f"{asked.words}{question}_{letter}", "en") for letter in OPTIONS}) == len(OPTIONS)
    assert set(asked.answers.values()) == set(OPTIONS)
