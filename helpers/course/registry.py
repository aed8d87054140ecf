"""The folder tasks/ is the registry: every module of it has a TASK."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from helpers.course import tasks as folder
from helpers.course.task import Task
from helpers.errors import WorkbookError


def tasks() -> dict[str, Task]:
    """Every task by its id, in the order of the notebook."""
    modules = [import_module(f"{folder.__name__}.{each.name}") for each in pkgutil.iter_modules(folder.__path__)]
    ordered = sorted(modules, key=lambda module: int(module.ORDER))
    found: dict[str, Task] = {module.TASK.id: module.TASK for module in ordered}
    if len(found) != len(modules):
        raise ValueError("two tasks of helpers/course/tasks/ have the same id")
    return found


def task(name: str) -> Task:
    """Raises WorkbookError `course.unknown_task` naming those that there are."""
    known = tasks()
    if name not in known:
        raise WorkbookError("course.unknown_task", given=name, known=list(known))
    return known[name]
