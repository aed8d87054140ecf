"""A quiz to click: each question with its options, the answers marked with a score. Without a reader, the same as text.

The answers go into the dictionary that is handed in, so that the cells behind read what was clicked; `Quiz` judges."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ascend_workbook.findings.sentence import say
from ascend_workbook.show.boxed import make_box
from course.lessons.quiz import OPTIONS, Quiz, quiz, read_letter
from course.pages import fill_template


@dataclass(frozen=True)
class Sheet:
    """The questions as text: what a notebook shows without a kernel, or without a reader."""

    asked: Quiz
    lang: str | None

    def __repr__(self) -> str:
        return self.asked.questions(self.lang)

    def _repr_html_(self) -> str:
        return fill_template("quiz_still.html", text=repr(self), lang=self.lang)


def quiz_box(name: str, answers: MutableMapping[str, str], lang: str | None = None) -> Any:
    """Return the quiz `name` as radio buttons with a button that marks them; the letters in `answers` are chosen at
    first. Raises WorkbookError for a name that is none."""
    asked = quiz(name)
    return make_box(lambda widgets, lang: draw_quiz(widgets, asked, answers, lang), Sheet(asked, lang), lang)


def draw_quiz(widgets: ModuleType, asked: Quiz, answers: MutableMapping[str, str], lang: str) -> Any:
    """Draw the questions with `widgets` (ipywidgets)."""
    rows: list[Any] = []
    marks: dict[str, Any] = {}
    for number, question in enumerate(asked.answers, 1):
        options = [(f"{letter}. {asked.option(question, letter, lang)}", letter) for letter in OPTIONS]
        chosen = read_letter(answers.get(question)) or None
        text = f"{number}. {say(asked.words + question, lang)}"
        wide = widgets.Layout(width="100%")
        buttons = widgets.RadioButtons(options=options, value=chosen, layout=wide, tooltip=text)
        buttons.observe(lambda change, question=question: answers.update({question: change["new"]}), "value")
        marks[question] = widgets.HTML()
        rows += [widgets.HTML(fill_template("quiz_question.html", text=text)), buttons, marks[question]]
    score = widgets.HTML()
    button = widgets.Button(description=say("course.quiz.check", lang), button_style="primary")

    def mark_answers(_: object = None) -> None:
        for question, mark in marks.items():
            is_right = read_letter(answers.get(question)) == asked.answers[question]
            line = asked.mark_answer(question, answers.get(question), lang)
            mark.value = fill_template("quiz_mark.html", right=is_right, text=line)
        right, count = asked.count_right(answers), len(asked.answers)
        score.value = fill_template("quiz_score.html", right=right, count=count, lang=lang)

    button.on_click(mark_answers)
    return widgets.VBox([*rows, button, score])
