"""The folder tasks/ is the registry of the exercises: every module of it has a TASK. The capstone has its stages."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from helpers.course import tasks as folder
from helpers.course.task import Task
from helpers.errors import WorkbookError

#: The notebooks that are judged: what a task's notebook is called by the commands.
EXERCISES, CAPSTONE = "exercises", "capstone"
NOTEBOOKS = {EXERCISES: "05_exercises", CAPSTONE: "06_capstone"}
#: The stage under which the capstone's notebook keeps its record and its tasks' folders, below run_dir.
CAPSTONE_FOLDER = "course_capstone"


def tasks() -> dict[str, Task]:
    """Every task by its id, in the order of the notebook."""
    modules = [import_module(f"{folder.__name__}.{each.name}") for each in pkgutil.iter_modules(folder.__path__)]
    ordered = sorted(modules, key=lambda module: int(module.ORDER))
    found: dict[str, Task] = {module.TASK.id: module.TASK for module in ordered}
    if len(found) != len(modules):
        raise ValueError("two tasks of helpers/course/tasks/ have the same id")
    return found


def tasks_of(notebook: str) -> dict[str, Task]:
    """Those of EXERCISES, or the stages of the CAPSTONE, by their ids. Raises WorkbookError for another name."""
    if notebook == EXERCISES:
        return tasks()
    if notebook != CAPSTONE:
        raise WorkbookError("course.unknown_notebook", given=notebook, known=list(NOTEBOOKS))
    from helpers.course.capstone.stages import STAGES

    return {each.id: each for each in STAGES.values()}


def task(name: str) -> Task:
    """Raises WorkbookError `course.unknown_task` naming those that there are."""
    known = tasks()
    if name not in known:
        raise WorkbookError("course.unknown_task", given=name, known=list(known))
    return known[name]
