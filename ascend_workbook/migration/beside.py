"""What a report has to say beside its verdict, as a table of its own: what was counted, and what was not shown."""

from __future__ import annotations

from collections.abc import Iterable

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Sentence

COLUMNS = (Column("rule"), Column("message", wrap=110))


def report_quiet_findings(findings: Iterable[Finding], tier: str = "") -> tuple[Report, ...]:
    """Report the findings that no one has to act on, a row for each; the verdict is not among them.

    `tier`: what they were measured on.
    """
    quiet = [finding for finding in findings if finding.status <= Status.NOTE]
    rows = tuple((finding.rule, Sentence(finding.key, **finding.args)) for finding in quiet)
    if not rows:
        return ()
    heading = Finding("MIG147", Status.NOTE, "MIG147.beside", {"count": len(rows)})
    return (Report("migration", "beside", (heading,), Table(COLUMNS, rows), tier=tier),)
