"""A class's grades as test cases: one for each task of each submission, after those of the report's own rules."""

from __future__ import annotations

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.show.junit import Case, rules_as_cases


def make_cases(report: Report, lang: str) -> list[Case]:
    """Return the tasks, then the rules. A task that is not done is skipped with its status, or with what kept it from
    being judged: it is no failure of the report."""
    reasons = {finding.place.path: finding.message(lang) for finding in report.findings if finding.place}
    rows = []
    for name, tasks in report.facts.get("tasks", {}).items() if report.verb == "course_grade" else ():
        for task, status in tasks.items():
            reason = "" if status else reasons.get(name, "")
            reason = reason or say(f"course.status.{status or 'not_yet'}", lang)
            rows.append(Case(f"course.{name}", task, Status.OK if status == "done" else Status.SKIPPED, reason))
    return [*rows, *rules_as_cases(report, lang)]
