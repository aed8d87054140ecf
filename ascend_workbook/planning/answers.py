"""The stage's report: what the rehearsal says, what the plan says."""

from __future__ import annotations

from ascend_workbook.findings.report import Report, join_reports


def join(rehearsed: Report, planned: Report | None = None) -> Report:
    """Join a rehearsal and a plan into one report, the stage's; what was rehearsed decides."""
    reports = [rehearsed, *([planned] if planned is not None else [])]
    return join_reports("planning", "planning", reports, tier=rehearsed.tier, answers=("PLN500",))
