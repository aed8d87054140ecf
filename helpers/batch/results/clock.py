"""The day by which expected failures are over: a clock that was set back must not keep a night green."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

from helpers.batch.results import history
from helpers.finding import Finding, Status
from helpers.words import Scalar

#: Two machines of one folder may differ by so much.
ALIKE = timedelta(minutes=10)


def day(folder: Path, now: datetime) -> tuple[date, tuple[Finding, ...]]:
    """The later of today and of the latest summary that the plan's folder has, in UTC, and what there is to say where
    that one is of a time that has not come yet."""
    known = history.latest(folder)
    if known is None or known[0] <= now + ALIKE:
        return now.date(), ()
    then, path = known
    told: dict[str, Scalar] = {"now": f"{now:%Y-%m-%d %H:%M}", "then": f"{then:%Y-%m-%d %H:%M}",
                               "path": str(path)}  # fmt: skip
    return then.date(), (Finding("RUN416", Status.WARN, "RUN416.clock", told, weight=90),)
