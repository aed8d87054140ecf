"""What came of checking one answer, as the notebook shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ascend_workbook.findings.sentence import Sentence, hint, say, show
from ascend_workbook.show.template import render_template

DONE, PARTLY, NOT_YET = "done", "partly", "not_yet"
#: Legible on white and on black.
COLOURS = {DONE: "#2e7d32", PARTLY: "#b26a00", NOT_YET: "#c0392b"}
#: A text of several lines stays under its mark.
BREAK, UNDER = "\n", "\n    "
CODE = re.compile("`([^`\n]+)`")


@dataclass(frozen=True)
class Outcome:
    """How far an answer has come. `status` is done, partly or not_yet; `tries` counts answers, not stubs."""

    task: str
    status: str
    right: tuple[Sentence, ...] = ()
    missing: tuple[Sentence, ...] = ()
    tries: int = 0
    simulated: bool = False
    remark: Sentence | None = None

    def heading(self, lang: str | None = None) -> str:
        """Return the status in both languages, then the task's title."""
        return f"{say(f'course.status.{self.status}', lang)} | {say(f'course.task.{self.task}', lang)}"

    def hint(self, lang: str | None = None) -> str:
        """Return where to look; from the second try on, closer. Nothing once it is done."""
        if self.status == DONE:
            return ""
        key = f"course.hint.{self.task}"
        return hint(key, lang) if self.tries > 1 else say(key, lang)

    def lines(self, lang: str | None = None) -> list[tuple[str, str]]:
        """Return (mark, text): what is right, what is missing, the hint, what is to be known beside."""
        shown = [("+", point) for point in self.right] + [("-", point) for point in self.missing]
        lines = [(mark, show(point, lang or say("course.lang", lang))) for mark, point in shown]
        lines += [("?", self.hint(lang))] if self.hint(lang) else []
        lines += [("!", say("course.simulated", lang))] if self.simulated else []
        return lines + ([("!", show(self.remark, lang or say("course.lang", lang)))] if self.remark else [])

    def __str__(self) -> str:
        return "\n".join([self.heading(), *(f"  {mark} {text.replace(BREAK, UNDER)}" for mark, text in self.lines())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        values = {"colour": COLOURS[self.status], "heading": self.heading(), "lines": self.lines()}
        return str(render_template("outcome.html", **values, split_code=CODE.split))
