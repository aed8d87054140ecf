"""What `grade` says: the table of the submissions, and a finding for each thing that the teacher is to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.course.grading.attempt import Grade
from helpers.course.grading.sheet import points
from helpers.course.outcome import DONE, NOT_YET, PARTLY
from helpers.finding import Finding, Place, Status
from helpers.report import Column, Report, Table
from helpers.words import Scalar

RULE = "CRS001"


@dataclass(frozen=True)
class Beside:
    """What the rows do not say, as names of submissions.

    left_out: lies in the folder and is none. kept: taken over from an earlier run. gone: in the earlier table, and no
    longer in the folder. absent: only in the list of names; unlisted: not in it.
    """

    left_out: Sequence[str] = ()
    kept: Sequence[str] = ()
    gone: Sequence[str] = ()
    absent: Sequence[str] = ()
    unlisted: Sequence[str] = ()


def report(
    grades: Sequence[Grade], beside: Beside, worth: Mapping[str, float], partly: float, target: Path
) -> Report:
    """A row per grade; `target`: the CSV."""
    troubled = [one for one in grades if one.trouble]
    findings = [Finding(RULE, Status.OK, "CRS001.graded", {"count": len(grades), "path": str(target)}, weight=1)]
    findings += [_trouble(one) for one in troubled]
    findings += [Finding(RULE, Status.WARN, "CRS001.not_graded", {"name": name}) for name in beside.left_out]
    findings += [*_twice(grades), *_alike(grades), *_unnamed(grades), *_beside(beside, len(grades), target)]
    if troubled:
        args: dict[str, Scalar] = {"count": len(grades), "path": str(target), "troubled": len(troubled)}
        findings.append(Finding(RULE, Status.WARN, "CRS001.graded_but", args, weight=10))
    facts = {"tasks": {one.name: {task: one.status.get(task, "") for task in worth} for one in grades}}
    return Report("course", "course_grade", tuple(findings), _table(grades, worth, partly), facts=facts)


def _trouble(one: Grade) -> Finding:
    """The place has the name; the next step is the one of what went wrong."""
    why = dict(one.trouble or {})
    step: Scalar = {"hint": why["say"], "args": why.get("args", {})}
    return Finding(RULE, Status.WARN, "CRS001.trouble", {"why": why, "step": step}, Place(one.name))


def _beside(beside: Beside, count: int, target: Path) -> list[Finding]:
    found = []
    if beside.kept:
        args: dict[str, Scalar] = {"kept": len(beside.kept), "count": count, "work": f"{target}.work"}
        found.append(Finding(RULE, Status.NOTE, "CRS001.kept", args))
    for key, status in (("gone", Status.WARN), ("absent", Status.NOTE), ("unlisted", Status.NOTE)):
        names: list[Scalar] = list(getattr(beside, key))
        if names:
            found.append(Finding(RULE, status, f"CRS001.{key}", {"names": names, "path": str(target)}))
    return found


def _unnamed(grades: Sequence[Grade]) -> list[Finding]:
    names: list[Scalar] = [one.name for one in grades if one.unnamed]
    return [Finding(RULE, Status.NOTE, "CRS001.unnamed", {"names": names})] if names else []


def _twice(grades: Sequence[Grade]) -> list[Finding]:
    students = [one.student for one in grades]
    return [Finding(RULE, Status.WARN, "CRS001.twice", {"student": name, "count": students.count(name)})
            for name in dict.fromkeys(students) if students.count(name) > 1]  # fmt: skip


def _alike(grades: Sequence[Grade]) -> list[Finding]:
    """Submissions of several students that are the same to the byte, or have the same code and something right in it;
    what could not be read has neither."""
    same = _shared(grades, lambda one: one.digest)
    worked = [one for one in grades if {*one.status.values()} - {NOT_YET}]
    code = [names for names in _shared(worked, lambda one: one.code) if not any({*names} <= {*each} for each in same)]
    found = [*(("alike", names) for names in same), *(("same_code", names) for names in code)]
    return [Finding(RULE, Status.WARN, f"CRS001.{key}", {"names": list(names)}) for key, names in found]


def _shared(grades: Sequence[Grade], what: Callable[[Grade], str]) -> list[list[str]]:
    """Names of those of several students with the same."""
    of: dict[str, list[Grade]] = {}
    for one in grades:
        of.setdefault(what(one), []).append(one)
    return [[one.name for one in same] for shared, same in of.items() if shared and len({x.student for x in same}) > 1]


def _table(grades: Sequence[Grade], worth: Mapping[str, float], partly: float) -> Table:
    columns = (Column("submission"), Column("points"), Column("grade_done"), Column("grade_partly"),
               Column("seconds", "s"), Column("message"))  # fmt: skip
    rows: list[tuple[Scalar, ...]] = []
    for one in grades:
        done, some = ([task for task, status in one.status.items() if status == kind] for kind in (DONE, PARTLY))
        told: Scalar = dict(one.trouble) if one.trouble else ""
        rows.append((one.name, sum(points(one, worth, partly).values()), done, some, one.seconds, told))
    return Table(columns, tuple(rows))
