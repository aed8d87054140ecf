"""The course: quizzes and predictions that are judged without stopping, the glossary, machines that are broken on
purpose, and the exercises. Sources of the notebooks: notebooks/source/course; its sentences: locale/course_*.toml.

Exercises: tasks/, one file each. `check_task` judges one answer; what it found is kept in course.json beside the runs.
"""

from ascend_workbook.findings.finding import Remarks
from ascend_workbook.findings.registry import CASES, REMARKS, register_functions
from course.exercises.checking import check_task
from course.exercises.outcome import DONE, NOT_YET, PARTLY, Outcome
from course.exercises.record import Entry, read_record
from course.exercises.task import Found, Place, Task, load_tasks

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
    "load_tasks",
]

#: What a teacher is to know of a table of grades that no row says.
GRADES = Remarks(answers=("CRS001.kept", "CRS001.unnamed", "CRS001.absent", "CRS001.unlisted"))
register_functions(CASES, {"course": "course.grading.summary:make_cases"})
register_functions(REMARKS, {"CRS": "course:GRADES"})
