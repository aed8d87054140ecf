"""A class at a glance, for its teacher: from a table of grades, who has done what, and what was missed most."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, Sentence, choose_language, say
from ascend_workbook.storage import write_file
from course.exercises.listing import RECORDS, tasks_of
from course.exercises.outcome import DONE, NOT_YET, PARTLY
from course.exercises.task import Task
from course.grading.sheet import rows_of
from course.pages import fill_template

RULE = "CRS006"
#: Task -> the lesson that teaches it; of other tasks the stage tells.
LESSONS = {"half": "03_mixed_precision", "ranks": "03_divergence"}
LESSON_OF_STAGE = {
    "environment": "01_environment",
    "migration": "02_migration",
    "precision": "03_divergence",
    "profiling": "04_slow_loop",
    "planning": "07_planning",
}
#: A task that so many tries have not done: its student is stuck.
STUCK = 4
#: So many tasks are told as missed most.
SHOWN = 3
UNJUDGED = ""


@dataclass(frozen=True)
class Student:
    """One row of the grades: task -> status (empty: not judged) and tries; `trouble`: what kept it from more."""

    name: str
    status: Mapping[str, str]
    tries: Mapping[str, int]
    points: str
    trouble: str

    @property
    def done(self) -> int:
        """Count the tasks that are done."""
        return sum(status == DONE for status in self.status.values())

    @property
    def next_task(self) -> str:
        """Return the first task that is not done; empty where all are."""
        return next((task for task, status in self.status.items() if status != DONE), "")

    def is_stuck(self, task: str) -> bool:
        """Return whether many tries have not done the task."""
        return self.status[task] != DONE and self.tries.get(task, 0) >= STUCK


def read_grades(path: Path) -> tuple[dict[str, Task], list[Student]]:
    """Read the tasks and the students of a table that `course grade` wrote, in either language. Raises WorkbookError
    for another file."""
    rows = [row for _, row in rows_of(path)]
    heading = rows[0] if rows else []
    if not heading or heading[0] not in {say("grading.column.submission", lang) for lang in LANGUAGES}:
        raise WorkbookError("grading.no_grades", path=str(path))
    places = {name[: -len("_status")]: at for at, name in enumerate(heading) if name.endswith("_status")}
    known = {task: entry for notebook in RECORDS for task, entry in tasks_of(notebook).items()}
    tasks = {task: known[task] for task in places if task in known}
    if not tasks or len(rows) < 2:
        raise WorkbookError("grading.no_grades", path=str(path))
    return tasks, [_read_student(_pair_cells(heading, row), tasks) for row in rows[1:]]


def _pair_cells(heading: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    return dict(zip(heading, (*row, *[""] * (len(heading) - len(row)))))


def _read_student(cells: Mapping[str, str], tasks: Mapping[str, Task]) -> Student:
    def read(name: str, **args: Scalar) -> str:
        headings = (say(f"grading.column.{name}", lang, **args) for lang in LANGUAGES)
        return next((cells[heading] for heading in headings if heading in cells), "")

    status = {task: cells[f"{task}_status"] for task in tasks}
    status = {task: word if word in (DONE, PARTLY, NOT_YET) else UNJUDGED for task, word in status.items()}
    tries = {task: read("task_tries", task=task) for task in tasks}
    numbers = {task: int(text) for task, text in tries.items() if text.isdecimal() and len(text) < 7}
    return Student(read("student") or read("submission"), status, numbers, read("points"), read("error"))


def lesson_of(task: Task) -> str:
    """Return the lesson that teaches what the task asks."""
    return LESSONS.get(task.id) or LESSON_OF_STAGE.get(task.stage, "03_divergence")


def show_class(
    grades: str | os.PathLike[str], out: str | os.PathLike[str] = "class.html", *, lang: str | None = None
) -> Report:
    """Write the page `out` from a table of grades: students and exercises, what was missed most, the next step.

    Raises WorkbookError where `grades` is no table that `course grade` wrote."""
    lang, target = choose_language(lang), Path(out)
    tasks, students = read_grades(Path(grades))
    if target.exists() and target.resolve() == Path(grades).resolve():
        raise WorkbookError("grading.over_grades", path=str(target))
    missed = {task: sum(student.status[task] != DONE for student in students) for task in tasks}
    worst = sorted((task for task in tasks if missed[task]), key=lambda task: -missed[task])[:SHOWN]
    report = _make_report(tasks, students, missed, worst, str(target))
    view = {"tasks": tasks, "students": students, "missed": missed, "worst": worst, "lesson_of": lesson_of}
    write_file(target, fill_template("class.html", **view, lang=lang, report=report))
    return report


def _make_report(
    tasks: Mapping[str, Task], students: Sequence[Student], missed: Mapping[str, int], worst: Sequence[str], path: str
) -> Report:
    done, count = sum(student.done for student in students), len(students) * len(tasks)
    args: dict[str, Scalar] = {"students": len(students), "percent": round(100 * done / count), "path": path}
    stuck = [student.name for student in students if any(map(student.is_stuck, tasks))]
    status = Status.NOTE if stuck else Status.GOOD  # what it comes to stays the headline
    findings = [Finding(RULE, status, f"{RULE}.all_done", args, weight=10)]
    if worst:
        task = tasks[worst[0]]
        more: dict[str, Scalar] = {"task": Sentence(f"course.task.{task.id}"), "missed": missed[task.id]}
        findings = [Finding(RULE, status, f"{RULE}.class", {**args, **more, "lesson": lesson_of(task)}, weight=10)]
    if stuck:
        findings.append(Finding(RULE, Status.NOTE, f"{RULE}.stuck", {"names": list[Scalar](stuck), "tries": STUCK}))
    rows = []
    for name, task in tasks.items():
        counts = [sum(student.status[name] == word for student in students) for word in (DONE, PARTLY, NOT_YET)]
        tried = [student.tries[name] for student in students if name in student.tries]
        mean = round(sum(tried) / len(tried), 1) if tried else None
        title: Scalar = Sentence(f"course.task.{name}")
        rows.append((name, title, *counts, len(students) - sum(counts), mean, lesson_of(task)))
    names = ("exercise", "title", "grade_done", "grade_partly", "not_done", "not_judged", "tries", "lesson")
    facts = {"page": path, "students": [{"name": each.name, "status": dict(each.status)} for each in students]}
    return Report("course", "course_class", tuple(findings), Table(tuple(map(Column, names)), tuple(rows)), facts=facts)
