"""What `grade` says: the table of the submissions, and a finding for each thing that the teacher is to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from helpers.course.grading.attempt import Grade
from helpers.course.grading.sheet import points
from helpers.course.outcome import DONE, PARTLY
from helpers.finding import Finding, Place, Status
from helpers.report import Column, Report, Table
from helpers.words import Scalar

RULE = "CRS001"


def report(
    grades: Sequence[Grade], left_out: Sequence[str], worth: Mapping[str, float], partly: float, target: Path
) -> Report:
    """A row per grade; `left_out`: names of what lies beside the submissions and is none; `target`: the CSV."""
    troubled = [one for one in grades if one.trouble]
    findings = [Finding(RULE, Status.OK, "CRS001.graded", {"count": len(grades), "path": str(target)}, weight=1)]
    findings += [Finding(RULE, Status.WARN, "CRS001.trouble", {"name": one.name, "why": dict(one.trouble or {})},
                         Place(one.name)) for one in troubled]  # fmt: skip
    findings += [Finding(RULE, Status.WARN, "CRS001.not_graded", {"name": name}) for name in left_out]
    findings += [*_twice(grades), *_alike(grades)]
    unnamed: list[Scalar] = [one.name for one in grades if one.unnamed]
    if unnamed:
        findings.append(Finding(RULE, Status.NOTE, "CRS001.unnamed", {"names": unnamed}))
    if troubled:
        args: dict[str, Scalar] = {"count": len(grades), "path": str(target), "troubled": len(troubled)}
        findings.append(Finding(RULE, Status.WARN, "CRS001.graded_but", args, weight=10))
    return Report("course", "course_grade", tuple(findings), _table(grades, worth, partly))


def _twice(grades: Sequence[Grade]) -> list[Finding]:
    students = [one.student for one in grades]
    return [Finding(RULE, Status.WARN, "CRS001.twice", {"student": name, "count": students.count(name)})
            for name in dict.fromkeys(students) if students.count(name) > 1]  # fmt: skip


def _alike(grades: Sequence[Grade]) -> list[Finding]:
    """Submissions of several students that are the same to the byte; what could not be read has no digest."""
    of: dict[str, list[Grade]] = {}
    for one in grades:
        of.setdefault(one.digest, []).append(one)
    return [Finding(RULE, Status.WARN, "CRS001.alike", {"names": [one.name for one in same]})
            for digest, same in of.items() if digest and len({one.student for one in same}) > 1]  # fmt: skip


def _table(grades: Sequence[Grade], worth: Mapping[str, float], partly: float) -> Table:
    columns = (Column("submission"), Column("points"), Column("grade_done"), Column("grade_partly"),
               Column("seconds", "s"), Column("message"))  # fmt: skip
    rows: list[tuple[Scalar, ...]] = []
    for one in grades:
        done, some = ([task for task, status in one.status.items() if status == kind] for kind in (DONE, PARTLY))
        told: Scalar = dict(one.trouble) if one.trouble else ""
        rows.append((one.name, sum(points(one, worth, partly).values()), done, some, one.seconds, told))
    return Table(columns, tuple(rows))
