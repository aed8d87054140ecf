"""Keeps a comparison among the attempts of its run, and says in its report whether the last change helped."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.attempts.helped import CODE, judge_change
from ascend_workbook.precision.attempts.history import load_attempts, save_attempt
from ascend_workbook.precision.attempts.record import attempt_of
from ascend_workbook.precision.baselines.judging import lines_of
from ascend_workbook.precision.baselines.reading import Opened
from ascend_workbook.precision.comparison import Comparison


def remember_attempt(report: Report, facts: Comparison, sides: tuple[Opened, Opened], run: Path) -> Report:
    """Return the report with ACC285 and facts["attempt"], its number.

    Raises OSError where `run` cannot be written to.
    """
    if "curves" not in report.facts:
        with suppress(WorkbookError):  # no losses on both sides: the attempt says so with loss None
            report = replace(report, facts={**report.facts, "curves": lines_of(*sides).facts})
    earlier, troubles = load_attempts(run)
    attempt = attempt_of(report, facts)
    attempt = replace(attempt, number=save_attempt(run, attempt))
    findings = [Finding("ACC286", Status.SKIPPED, trouble.key, trouble.arguments) for trouble in troubles]
    if earlier:
        findings.append(judge_change(earlier[-1], attempt))
    else:
        findings.append(Finding(CODE, Status.NOTE, "ACC285.only", {"count": 1}))
    new_facts = {**report.facts, "attempt": attempt.number, "attempts": str(run)}
    return replace(report, findings=(*report.findings, *findings), facts=new_facts)
