"""`attempts`: what was compared so far into a run's folder, and whether the last change helped."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.attempts.helped import CODE, describe_changes, judge_change
from ascend_workbook.precision.attempts.record import FOLDER, Attempt, load_attempts

COLUMNS = (
    Column("attempt"),
    Column("when"),
    Column("status"),
    Column("first_divergence", wrap=44),
    Column("parting"),
    Column("loss_difference"),
    Column("changed", wrap=44),
)


def attempts(run: str | Path) -> Report:
    """All attempts kept below a run's folder, oldest first, and how the last differs from the one before.

    Raises WorkbookError where there is none; one that cannot be read is a finding, the others are shown."""
    folder = Path(run)
    known, troubles = load_attempts(folder)
    if not known and not troubles:
        raise WorkbookError("attempts.none_kept", path=str(folder / FOLDER))
    findings = [Finding("ACC286", Status.LOOK, attempt.key, attempt.arguments) for attempt in troubles]
    if len(known) < 2:
        findings.append(Finding(CODE, Status.NOTE, "ACC285.only", {"count": len(known)}, weight=100))
    else:
        findings.append(replace(judge_change(known[-2], known[-1]), weight=100))
    rows = tuple(_make_row(attempt, known[at - 1] if at else None) for at, attempt in enumerate(known))
    chart = Chart("lines", "attempt", ("parting",)) if len(known) > 1 else None
    facts = {"folder": str(folder), "attempts": [asdict(attempt) for attempt in known]}
    return Report("precision", "attempts", tuple(findings), Table(COLUMNS, rows), chart, facts=facts)


def _make_row(attempt: Attempt, before: Attempt | None) -> tuple[Scalar, ...]:
    first: Scalar = attempt.first["operator"] if attempt.first else Sentence("attempts.none")
    if not attempt.judged:
        first = Sentence("attempts.not_judged")
    return (
        attempt.number,
        attempt.at,
        attempt.status,
        first,
        f"{attempt.parting}/{attempt.compared}" if attempt.judged else None,
        attempt.loss.get("worst") if attempt.loss else None,
        describe_changes(before, attempt) if before else None,
    )
