"""Quizzes: each question with its options, and what an answer is worth. A wrong or missing answer never stops a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import hint, say
from course.exercises.data import as_typed

OPTIONS = "abc"


@dataclass(frozen=True)
class Quiz:
    """Questions with one right letter each, by name; the keys of its sentences begin with `words`."""

    words: str
    answers: Mapping[str, str]

    def question(self, name: str, lang: str | None = None) -> str:
        """Return the question and its options, a line each."""
        options = (f"   {letter}. {self.option(name, letter, lang)}" for letter in OPTIONS)
        return "\n".join((say(self.words + name, lang), *options))

    def option(self, name: str, letter: str, lang: str | None = None) -> str:
        """Return what stands behind a letter of a question."""
        return say(f"{self.words}{name}_{letter}", lang)

    def count_right(self, letters: Mapping[str, object]) -> int:
        """Count the questions whose letter is right."""
        return sum(read_letter(letters.get(name)) == answer for name, answer in self.answers.items())

    def questions(self, lang: str | None = None) -> str:
        """Return all questions, numbered, each with the name that its answer goes under."""
        texts = (f"{number}. [{name}] {self.question(name, lang)}" for number, name in enumerate(self.answers, 1))
        return "\n\n".join(texts)

    def marked(self, letters: Mapping[str, object], lang: str | None = None) -> str:
        """Return a line for each question: right, not yet with a hint, or unanswered; then how many are right.

        `letters` maps names of questions to letters; what is no letter of the question counts as unanswered, and a name
        that the quiz has not is told, as is what is no such map.
        """
        if not isinstance(letters, Mapping):
            return "\n".join((say("course.quiz.form", lang, given=type(letters).__name__), self.marked({}, lang)))
        lines = [f"{name:<12} {self.mark_answer(name, letters.get(name), lang)}" for name in self.answers]
        strange = sorted(str(name) for name in letters if name not in self.answers)
        lines += [say("course.quiz.strange", lang, names=strange)] if strange else []
        score = say("course.quiz.score", lang, right=self.count_right(letters), count=len(self.answers))
        return "\n".join((*lines, score))

    def mark_answer(self, name: str, reply: object, lang: str | None = None) -> str:
        """Return what an answer is worth: right, not yet with a hint, or unanswered."""
        letter = read_letter(reply)
        if letter == self.answers[name]:
            return say("course.quiz.right", lang)
        if not letter:
            return say("course.quiz.unanswered", lang)
        return say("course.quiz.not_yet", lang, hint=hint(self.words + name, lang))


def quiz(name: str) -> Quiz:
    """Return the quiz of a lesson. Raises WorkbookError `course.quiz.unknown` for a name that is none."""
    if name not in QUIZZES:
        raise WorkbookError("course.quiz.unknown", name=name, names=sorted(QUIZZES))
    return QUIZZES[name]


def read_letter(reply: object) -> str:
    """Return the letter of an option, or an empty text for anything else."""
    letter = as_typed(str(reply)).lower()
    return letter if len(letter) == 1 and letter in OPTIONS else ""


START = {"matmul": "b", "softmax": "a", "format": "c", "queue": "b", "nccl": "a", "stack": "c", "type": "b"}
QUIZZES = {"start": Quiz("course.start.", {**START, "simulated": "a"})}
