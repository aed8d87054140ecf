"""What came of checking one answer, as the notebook shows it."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

from helpers.course.task import Sentence
from helpers.words import hint, say, show

DONE, PARTLY, NOT_YET = "done", "partly", "not_yet"
#: Legible on white and on black.
COLOURS = {DONE: "#2e7d32", PARTLY: "#b26a00", NOT_YET: "#c0392b"}
#: A text of several lines stays under its mark.
BREAK, UNDER = "\n", "\n    "


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
        """The status in both languages, then the task's title."""
        return f"{say(f'course.status.{self.status}', lang)} | {say(f'course.task.{self.task}', lang)}"

    def hint(self, lang: str | None = None) -> str:
        """Where to look; from the second try on, closer. Nothing once it is done."""
        if self.status == DONE:
            return ""
        key = f"course.hint.{self.task}"
        return hint(key, lang) if self.tries > 1 else say(key, lang)

    def lines(self, lang: str | None = None) -> list[tuple[str, str]]:
        """(mark, text): what is right, what is missing, the hint, what is to be known beside."""
        shown = [("+", one) for one in self.right] + [("-", one) for one in self.missing]
        told = [(mark, show(one, lang or say("course.lang", lang))) for mark, one in shown]
        told += [("?", self.hint(lang))] if self.hint(lang) else []
        told += [("!", say("course.simulated", lang))] if self.simulated else []
        return told + ([("!", show(self.remark, lang or say("course.lang", lang)))] if self.remark else [])

    def __str__(self) -> str:
        return "\n".join([self.heading(), *(f"  {mark} {text.replace(BREAK, UNDER)}" for mark, text in self.lines())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(f"<div>&nbsp;{mark}&nbsp; {_as_html(text)}</div>" for mark, text in self.lines())
        style = f"border-left:6px solid {COLOURS[self.status]};padding:2px 10px"
        return f"<div style='{style}'><b>{html.escape(self.heading())}</b>{rows}</div>"

    def to_dict(self) -> dict[str, Any]:
        return {"task": self.task, "status": self.status, "right": list(self.right), "missing": list(self.missing),
                "tries": self.tries, "simulated": self.simulated}  # fmt: skip


def _as_html(text: str) -> str:
    """Escaped; `code` as code, a line of its own for each line."""
    return re.sub("`([^`\n]+)`", r"<code>\1</code>", html.escape(text)).replace(BREAK, f"<br>{'&nbsp;' * 4}")
