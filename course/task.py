"""A task of the course, and what its check finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import Sentence, say


@dataclass(frozen=True)
class Place:
    """Whose answer is checked and where: `folder` is the task's own, `student` draws what differs between students."""

    folder: Path
    student: str = ""


@dataclass(frozen=True)
class Found:
    """What a check saw: sentences of what is right and of what is missing; `simulated` where an NPU stood in."""

    right: tuple[Sentence, ...] = ()
    missing: tuple[Sentence, ...] = ()
    simulated: bool = False


@dataclass(frozen=True)
class Task:
    """One exercise. `check(answer, place)` sees the answer as plain data and may raise: the caller tells of it.

    id: names the task in the notebook, in course.json and in the words `course.task.<id>` and `course.hint.<id>`.
    stage: environment | migration | precision | profiling | distributed.
    needs: tiers of device.TIERS without which it cannot be done.
    seconds: the longest that its check may take.
    """

    id: str
    stage: str
    check: Callable[[Any, Place], Found]
    needs: tuple[str, ...] = ()
    seconds: float = 120.0

    def title(self, lang: str | None = None) -> str:
        return say(f"course.task.{self.id}", lang)
