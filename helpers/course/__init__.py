"""The course: quizzes and predictions that are judged without stopping, the glossary, machines that are broken on
purpose, and the exercises. Sources of the notebooks: notebooks/source/course; words: words/course_*.py.

Exercises: tasks/, one file each. `check_task` judges one answer; what it found is kept in course.json beside the runs.
"""

from helpers.course.checking import check_task
from helpers.course.outcome import DONE, NOT_YET, PARTLY, Outcome
from helpers.course.record import Entry, read_record
from helpers.course.registry import tasks
from helpers.course.task import Found, Place, Task

__all__ = [
    "DONE",
    "NOT_YET",
    "PARTLY",
    "Entry",
    "Found",
    "Outcome",
    "Place",
    "Task",
    "check_task",
    "read_record",
    "tasks",
]
