"""A task of the course, and what its check finds."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence, say
from course import tasks as folder

#: A judged statement: whether it holds, and what is said of it.
Point = tuple[bool, Sentence]


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

    @classmethod
    def of_points(cls, points: Iterable[Point], simulated: bool = False) -> Found:
        """Return what the points say: right is the sentence of one that holds, missing that of one that does not."""
        judged = list(points)
        right, missing = (tuple(point for good, point in judged if good is wanted) for wanted in (True, False))
        return cls(right, missing, simulated)


@dataclass(frozen=True)
class Task:
    """One exercise. `check(answer, place)` sees the answer as plain data and may raise: the caller tells of it.

    id: names the task in the notebook, in course.json and in the words `course.task.<id>` and `course.hint.<id>`.
    stage: environment | migration | precision | profiling | distributed | planning.
    needs: tiers of device.TIERS without which it cannot be done.
    seconds: the longest that its check may take.
    notebook: of NOTEBOOKS, where it is asked.
    """

    id: str
    stage: str
    check: Callable[[object, Place], Found]
    needs: tuple[str, ...] = ()
    seconds: float = 120.0
    notebook: str = "exercises"

    def title(self, lang: str | None = None) -> str:
        return say(f"course.task.{self.id}", lang)


#: The notebooks that are judged: what a task's notebook is called by the commands.
EXERCISES, CAPSTONE, PLANNING = "exercises", "capstone", "planning"
NOTEBOOKS = {EXERCISES: "05_exercises", CAPSTONE: "06_capstone", PLANNING: "07_planning"}
#: The stage under which the capstone's notebook keeps its record and its tasks' folders, below run_dir.
CAPSTONE_FOLDER = "course_capstone"


def load_tasks(notebook: str = EXERCISES) -> dict[str, Task]:
    """Return the notebook's tasks of `course/tasks` by their ids, in its order."""
    return {name: task for name, task in _load_every_task().items() if task.notebook == notebook}


def _load_every_task() -> dict[str, Task]:
    modules = [import_module(f"{folder.__name__}.{entry.name}") for entry in pkgutil.iter_modules(folder.__path__)]
    ordered = sorted(modules, key=lambda module: int(module.ORDER))
    tasks_by_id: dict[str, Task] = {module.TASK.id: module.TASK for module in ordered}
    if len(tasks_by_id) != len(modules):
        raise ValueError("two tasks of course/tasks/ have the same id")
    return tasks_by_id


def find_task(name: str) -> Task:
    """Return the task of this name. Raises WorkbookError `course.unknown_task` naming those that there are."""
    known = _load_every_task()
    if name not in known:
        raise WorkbookError("course.unknown_task", given=name, known=list(known))
    return known[name]
