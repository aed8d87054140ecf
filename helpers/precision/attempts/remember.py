"""Keeps a comparison among the attempts of its run, and says in its report whether the last change helped."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.precision.attempts.helped import CODE, helped
from helpers.precision.attempts.history import keep, load
from helpers.precision.attempts.record import attempt_of
from helpers.precision.baselines.judging import lines_of
from helpers.precision.baselines.reading import Opened
from helpers.precision.comparison import Comparison
from helpers.report import Report


def remembered(report: Report, facts: Comparison, sides: tuple[Opened, Opened], run: Path) -> Report:
    """The report with ACC285 and facts["attempt"], its number. Raises OSError where `run` cannot be written to."""
    if "curves" not in report.facts:
        with suppress(WorkbookError):  # no losses on both sides: the attempt says so with loss None
            report = replace(report, facts={**report.facts, "curves": lines_of(*sides).facts})
    earlier, troubles = load(run)
    attempt = attempt_of(report, facts)
    attempt = replace(attempt, number=keep(run, attempt))
    told = [Finding("ACC286", Status.SKIPPED, one.key, one.arguments) for one in troubles]
    if earlier:
        told.append(helped(earlier[-1], attempt))
    else:
        told.append(Finding(CODE, Status.NOTE, "ACC285.only", {"count": 1}))
    kept = {**report.facts, "attempt": attempt.number, "attempts": str(run)}
    return replace(report, findings=(*report.findings, *told), facts=kept)
