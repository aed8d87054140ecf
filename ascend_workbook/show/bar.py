"""The one progress bar of a notebook's cell: how far, how long still; gone when the work is done.

Nothing is written to standard error. Without a reader (ascend_workbook.show.boxed) there is no bar, so that stored
outputs do not change; each message goes into a log beside the results in any case.
"""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from ascend_workbook.findings.sentence import say
from ascend_workbook.show import template
from ascend_workbook.show.boxed import HEADLESS

#: Seconds between two drawings.
OFTEN = 0.2


class Step(str):
    """A message of progress that knows how far the work is: `done` of `of`."""

    done: int
    of: int

    def __new__(cls, text: str, done: int, of: int) -> Step:
        step = super().__new__(cls, text)
        step.done, step.of = done, of
        return step


class Bar:
    """Call it with a message, or with what a training tells (step, steps), perhaps after the name of its side."""

    def __init__(self, log: Path, lang: str) -> None:
        self.log, self.lang = log, lang
        self.began = self.drawn = time.monotonic()
        self.first: tuple[int, float] | None = None
        self.handle: Any = None

    def __enter__(self) -> Bar:
        if os.environ.get(HEADLESS) != "1":
            from IPython.display import HTML, display

            self.handle = display(HTML(self.render("", 0, 0, None)), display_id=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.handle is not None:
            from IPython.display import clear_output

            clear_output()

    def __call__(self, *news: Any) -> None:
        message, done, of = read_message(news, self.lang)
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now():%H:%M:%S} {message}\n")
        now = time.monotonic()
        if of and (self.first is None or done < self.first[0]):  # another run began anew
            self.first = (done, now)
        left = None
        if of and self.first and done > self.first[0]:
            left = (of - done) * (now - self.first[1]) / (done - self.first[0])
        if self.handle is not None and (now - self.drawn >= OFTEN or done == of):
            from IPython.display import HTML

            self.drawn = now
            self.handle.update(HTML(self.render(message, done, of, left)))

    def render(self, message: str, done: int, of: int, left: float | None) -> str:
        """Render the bar: without an end in sight it moves and tells how long it has been."""
        key, seconds = ("bar.since", time.monotonic() - self.began) if left is None else ("bar.left", left)
        duration = say(key, self.lang, time=format_seconds(seconds, self.lang))
        name = message or say("bar.starts", self.lang)
        return str(template.render_template("bar.html", name=name, done=done, of=of, time=duration))


def read_message(news: tuple[Any, ...], lang: str) -> tuple[str, int, int]:
    """Return the text of what was told, how much is done, and of how much (0: not known)."""
    last = news[-1]
    done, of = getattr(last, "done", getattr(last, "step", 0)), getattr(last, "of", getattr(last, "steps", 0)) or 0
    text = str(last) if isinstance(last, str) else say("bar.step", lang, step=done, steps=of or None)
    side = say(f"migration.side.{news[0]}", lang) if len(news) > 1 else ""
    return (say("report.line", lang, name=side, text=text) if side else text), done, of


def format_seconds(seconds: float, lang: str) -> str:
    """Format a duration as a reader says it."""
    minutes, rest = divmod(round(seconds), 60)
    return (
        say("bar.minutes", lang, minutes=minutes, seconds=rest) if minutes else say("bar.seconds", lang, seconds=rest)
    )
