"""The day by which expected failures are over: a clock that was set back must not keep a night green."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

from ascend_workbook.batch.results import history
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar

#: Two machines of one folder may differ by so much.
ALIKE = timedelta(minutes=10)


def decide_day(folder: Path, now: datetime) -> tuple[date, tuple[Finding, ...]]:
    """Return the later of today and of the latest summary in the plan's folder, in UTC, with a finding where that lies
    ahead."""
    latest_summary = history.find_latest(folder)
    if latest_summary is None or latest_summary[0] <= now + ALIKE:
        return now.date(), ()
    then, path = latest_summary
    args: dict[str, Scalar] = {"now": f"{now:%Y-%m-%d %H:%M}", "then": f"{then:%Y-%m-%d %H:%M}", "path": str(path)}
    return then.date(), (Finding("RUN416", Status.WARN, "RUN416.clock", args, weight=90),)
