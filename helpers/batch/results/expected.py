"""Failures that the plan knows of: not red up to their date, and told when they are over or of no use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from helpers.batch.campaign.ended import DIED, DIFFERS, EXPECTED, GOOD, LEFT_OUT, NOT_RUN, OUT_OF_MEMORY, RED, TIMED_OUT
from helpers.batch.plan.model import Expected
from helpers.batch.results.rows import Row
from helpers.finding import Finding, Status
from helpers.words import Scalar

#: What may be expected. A run that was stopped from outside says nothing of its failure.
FAILURES = (RED, DIED, TIMED_OUT, OUT_OF_MEMORY, DIFFERS)


def apply(rows: Iterable[Row], expect: tuple[Expected, ...], today: date) -> tuple[list[Row], list[Finding]]:
    """The rows, those that failed as expected so marked, and what there is to say of each expectation. `today` is the
    day in UTC."""
    rows = list(rows)
    findings: list[Finding] = []
    for wanted in expect:
        named = [row for row in rows if fnmatchcase(row.name, wanted.run)]
        failed = [row for row in named if row.state in FAILURES and _where(row, wanted)]
        over = today > date.fromisoformat(wanted.until)
        if failed and not over:
            rows = [_expected(row, wanted) if row in failed else row for row in rows]
        findings += _said(wanted, named, failed, over=over)
    return rows, findings


def _where(row: Row, wanted: Expected) -> bool:
    """Whether it failed where that is expected, and nowhere else."""
    return not wanted.stage or {stage.stage for stage in row.stages if stage.red} == {wanted.stage}


def _expected(row: Row, wanted: Expected) -> Row:
    return replace(row, ended=replace(row.ended, state=EXPECTED), expected=wanted)


def _said(wanted: Expected, named: list[Row], failed: list[Row], *, over: bool) -> list[Finding]:
    args: dict[str, Scalar] = {"run": wanted.run, "until": wanted.until, "reason": wanted.reason,
                               "runs": [row.name for row in failed], "count": len(failed)}  # fmt: skip
    good = [row.name for row in named if row.state == GOOD]
    if not named:
        return [Finding("RUN412", Status.WARN, "RUN412.nothing", args, weight=30)]
    found = []
    if failed:
        key = "RUN412.expired" if over else "RUN412.expected"
        found.append(Finding("RUN412", Status.FAIL if over else Status.NOTE, key, args, weight=40))
    elif good and all(row.state in (GOOD, LEFT_OUT) for row in named):
        found.append(Finding("RUN412", Status.NOTE, "RUN412.passes", {**args, "runs": good, "count": len(good)}))
    elsewhere = [row.name for row in named if row.state in FAILURES and not _where(row, wanted)]
    if elsewhere:
        args |= {"stage": {"say": f"name.{wanted.stage}"}, "runs": elsewhere}
        found.append(Finding("RUN412", Status.FAIL, "RUN412.elsewhere", args, weight=35))
    return found


def ended(row: Row) -> bool:
    """Whether it has a result."""
    return row.state not in (NOT_RUN, LEFT_OUT)
