"""What `grade` says: the table of the submissions, and a finding for each thing that the teacher is to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import NextStep, Scalar, say
from ascend_workbook.machine.sandbox import NAMESPACES
from ascend_workbook.show.junit import Case, rules_as_cases
from course.exercises.outcome import DONE, NOT_YET, PARTLY
from course.grading.attempt import Grade
from course.grading.sheet import count_points

RULE = "CRS001"
#: Places that are named of what a submission tried.
SHOWN = 6


@dataclass(frozen=True)
class Beside:
    """What the rows do not say, as names of submissions.

    left_out: lies in the folder and is none. kept: taken over from an earlier run. gone: in the earlier table, and no
    longer in the folder. absent: only in the list of names; unlisted: not in it. as_root: root could not run them as
    another user, who gets no further than a closed folder.
    """

    left_out: Sequence[str] = ()
    kept: Sequence[str] = ()
    gone: Sequence[str] = ()
    absent: Sequence[str] = ()
    unlisted: Sequence[str] = ()
    as_root: bool = False


def make_report(
    grades: Sequence[Grade], beside: Beside, worth: Mapping[str, float], partly: float, target: Path
) -> Report:
    """Return the report with a row per grade; `target` is the CSV."""
    troubled = [(grade.name, grade.trouble) for grade in grades if grade.trouble]
    findings = [Finding(RULE, Status.GOOD, "CRS001.graded", {"count": len(grades), "path": str(target)}, weight=1)]
    for name, why in troubled:  # the place has the name, and the next step is the one of what went wrong
        step = NextStep(why.key, **why.args)
        findings.append(Finding(RULE, Status.LOOK, "CRS001.trouble", {"why": why, "step": step}, Place(name)))
    findings += [Finding(RULE, Status.LOOK, "CRS001.not_graded", {"name": name}) for name in beside.left_out]
    findings += [
        Finding(RULE, Status.LOOK, "CRS001.twice", {"student": student, "count": count})
        for student, count in Counter(grade.student for grade in grades).items()
        if count > 1
    ]
    findings += [*_find_attempts(grades, beside), *_find_alike(grades), *_findings_beside(beside, grades, target)]
    if troubled:
        args: dict[str, Scalar] = {"count": len(grades), "path": str(target), "troubled": len(troubled)}
        findings.append(Finding(RULE, Status.LOOK, "CRS001.graded_but", args, weight=10))
    facts = {"tasks": {grade.name: {task: grade.status.get(task, "") for task in worth} for grade in grades}}
    return Report("course", "course_grade", tuple(findings), _make_table(grades, worth, partly), facts=facts)


def _find_attempts(grades: Sequence[Grade], beside: Beside) -> list[Finding]:
    """Find what submissions tried outside their folders, and which guard kept them from it."""
    findings = []
    for grade in grades:
        if grade.tried:
            args: dict[str, Scalar] = {"places": list(grade.tried[:SHOWN])}
            findings.append(Finding(RULE, Status.LOOK, "CRS001.tried", args, Place(grade.name)))
        if grade.sends:
            findings.append(Finding(RULE, Status.NOTE, "CRS001.sends", {"count": grade.sends}, Place(grade.name)))
    for guard in sorted({grade.guard for grade in grades} - {"", NAMESPACES}):
        findings.append(Finding(RULE, Status.LOOK, f"CRS001.guard_{guard}"))
    return [*findings, Finding(RULE, Status.NOTE, "CRS001.as_root")] if beside.as_root else findings


def _findings_beside(beside: Beside, grades: Sequence[Grade], target: Path) -> list[Finding]:
    unnamed: list[Scalar] = [grade.name for grade in grades if grade.unnamed]
    findings = [Finding(RULE, Status.NOTE, "CRS001.unnamed", {"names": unnamed})] if unnamed else []
    if beside.kept:
        args: dict[str, Scalar] = {"kept": len(beside.kept), "count": len(grades), "work": f"{target}.work"}
        findings.append(Finding(RULE, Status.NOTE, "CRS001.kept", args))
    for key, status in (("gone", Status.LOOK), ("absent", Status.NOTE), ("unlisted", Status.NOTE)):
        names: list[Scalar] = list(getattr(beside, key))
        if names:
            findings.append(Finding(RULE, status, f"CRS001.{key}", {"names": names, "path": str(target)}))
    return findings


def _find_alike(grades: Sequence[Grade]) -> list[Finding]:
    """Find submissions of several students that are the same to the byte, or have the same code and something right in
    it; what could not be read has neither."""
    same = _group_shared(grades, lambda grade: grade.digest)
    worked = [grade for grade in grades if {*grade.status.values()} - {NOT_YET}]
    code = [
        names
        for names in _group_shared(worked, lambda grade: grade.code)
        if not any({*names} <= {*group} for group in same)
    ]
    groups = [*(("alike", names) for names in same), *(("same_code", names) for names in code)]
    return [Finding(RULE, Status.LOOK, f"CRS001.{key}", {"names": list(names)}) for key, names in groups]


def _group_shared(grades: Sequence[Grade], what: Callable[[Grade], str]) -> list[list[str]]:
    """Return the names of those of several students with the same."""
    of: dict[str, list[Grade]] = {}
    for grade in grades:
        of.setdefault(what(grade), []).append(grade)
    return [
        [grade.name for grade in same] for shared, same in of.items() if shared and len({x.student for x in same}) > 1
    ]


def _make_table(grades: Sequence[Grade], worth: Mapping[str, float], partly: float) -> Table:
    columns = (*map(Column, ("submission", "points", "grade_done", "grade_partly")), Column("seconds", "s"))
    rows: list[tuple[Scalar, ...]] = []
    for grade in grades:
        done, some = ([task for task, status in grade.status.items() if status == kind] for kind in (DONE, PARTLY))
        trouble: Scalar = grade.trouble or ""
        rows.append((grade.name, sum(count_points(grade, worth, partly).values()), done, some, grade.seconds, trouble))
    return Table((*columns, Column("message")), tuple(rows))


def make_cases(report: Report, lang: str) -> list[Case]:
    """Return the tasks, then the rules. A task that is not done is skipped with its status, or with what kept it from
    being judged: it is no failure of the report."""
    reasons = {finding.place.path: finding.message(lang) for finding in report.findings if finding.place}
    rows = []
    for name, tasks in report.facts.get("tasks", {}).items() if report.verb == "course_grade" else ():
        for task, status in tasks.items():
            reason = "" if status else reasons.get(name, "")
            reason = reason or say(f"course.status.{status or 'not_yet'}", lang)
            rows.append(Case(f"course.{name}", task, Status.GOOD if status == "done" else Status.NOT_LOOKED, reason))
    return [*rows, *rules_as_cases(report, lang)]
