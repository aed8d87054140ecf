"""The folder tasks/ is the registry of the exercises: every module of it has a TASK. The capstone has its stages."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from ascend_workbook.findings.errors import WorkbookError
from course import tasks as folder
from course.task import Task

#: The notebooks that are judged: what a task's notebook is called by the commands.
EXERCISES, CAPSTONE = "exercises", "capstone"
NOTEBOOKS = {EXERCISES: "05_exercises", CAPSTONE: "06_capstone"}
#: The stage under which the capstone's notebook keeps its record and its tasks' folders, below run_dir.
CAPSTONE_FOLDER = "course_capstone"


def load_tasks() -> dict[str, Task]:
    """Return every task by its id, in the order of the notebook."""
    modules = [
        import_module(f"{folder.__name__}.{module_info.name}") for module_info in pkgutil.iter_modules(folder.__path__)
    ]
    ordered = sorted(modules, key=lambda module: int(module.ORDER))
    tasks_by_id: dict[str, Task] = {module.TASK.id: module.TASK for module in ordered}
    if len(tasks_by_id) != len(modules):
        raise ValueError("two tasks of course/tasks/ have the same id")
    return tasks_by_id


def find_task(name: str) -> Task:
    """Return the task of this name. Raises WorkbookError `course.unknown_task` naming those that there are."""
    known = load_tasks()
    if name not in known:
        raise WorkbookError("course.unknown_task", given=name, known=list(known))
    return known[name]
