"""`attempts`: what was compared so far into a run's folder, and whether the last change helped."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.precision.attempts.helped import CODE, changed, helped
from helpers.precision.attempts.history import FOLDER, load
from helpers.precision.attempts.record import Attempt
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar

COLUMNS = (Column("attempt"), Column("when"), Column("status"), Column("first_divergence", wrap=44), Column("parting"),
           Column("loss_difference"), Column("changed", wrap=44))  # fmt: skip


def attempts(run: str | Path) -> Report:
    """All attempts kept below a run's folder, oldest first, and how the last differs from the one before.

    Raises WorkbookError where there is none; one that cannot be read is a finding, the others are shown.
    """
    folder = Path(run)
    found, troubles = load(folder)
    if not found and not troubles:
        raise WorkbookError("attempts.none_kept", path=str(folder / FOLDER))
    findings = [Finding("ACC286", Status.WARN, one.key, one.arguments) for one in troubles]
    findings.append(latest(found))
    rows = tuple(_row(one, found[at - 1] if at else None) for at, one in enumerate(found))
    chart = Chart("lines", "attempt", ("parting",)) if len(found) > 1 else None
    facts = {"folder": str(folder), "attempts": [asdict(one) for one in found]}
    return Report("precision", "attempts", tuple(findings), Table(COLUMNS, rows), chart, facts=facts)


def latest(found: list[Attempt]) -> Finding:
    """The last attempt against the one before it."""
    if len(found) < 2:
        return Finding(CODE, Status.NOTE, "ACC285.only", {"count": len(found)}, weight=100)
    one = helped(found[-2], found[-1])
    return Finding(one.rule, one.status, one.key, one.args, weight=100)


def _row(one: Attempt, before: Attempt | None) -> tuple[Scalar, ...]:
    first: Scalar = one.first["operator"] if one.first else {"say": "attempts.none"}
    if not one.judged:
        first = {"say": "attempts.not_judged"}
    return (one.number, one.at, one.status, first, f"{one.parting}/{one.compared}" if one.judged else None,
            one.loss.get("worst") if one.loss else None, changed(before, one) if before else None)  # fmt: skip
