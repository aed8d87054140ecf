"""What each judged notebook asks: the exercises of the folder tasks/, or the capstone's stages."""

from __future__ import annotations

from ascend_workbook.findings.errors import WorkbookError
from course.task import CAPSTONE, EXERCISES, NOTEBOOKS, Task, load_tasks


def tasks_of(notebook: str) -> dict[str, Task]:
    """Return the tasks of EXERCISES, or the stages of the CAPSTONE, by their ids. Raises WorkbookError for another
    name."""
    if notebook == EXERCISES:
        return load_tasks()
    if notebook != CAPSTONE:
        raise WorkbookError("course.unknown_notebook", given=notebook, known=list(NOTEBOOKS))
    from course.capstone.stages import STAGES

    return {task.id: task for task in STAGES.values()}
