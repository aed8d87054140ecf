"""What a report has to say beside its verdict, as a table of its own: what was counted, and what was not shown."""

from __future__ import annotations

from collections.abc import Iterable

from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table

COLUMNS = (Column("rule"), Column("message", wrap=110))


def beside(findings: Iterable[Finding], tier: str = "") -> tuple[Report, ...]:
    """A part with a row for each finding that no one has to act on; the verdict is not among the findings.

    `tier`: what they were measured on.
    """
    quiet = [found for found in findings if found.status <= Status.NOTE]
    rows = tuple((found.rule, {"say": found.key, "args": found.args}) for found in quiet)
    if not rows:
        return ()
    said = Finding("MIG147", Status.NOTE, "MIG147.beside", {"count": len(rows)})
    return (Report("migration", "beside", (said,), Table(COLUMNS, rows), tier=tier),)
