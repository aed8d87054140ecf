"""Writes what is known of a plan, each file whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, timezone
from pathlib import Path

from helpers.batch.acceptance import targets
from helpers.batch.campaign.ended import Ended
from helpers.batch.plan.model import Plan
from helpers.batch.results import against, clock, expected, history, junit, page
from helpers.batch.results.content import content
from helpers.batch.results.rows import rows_of
from helpers.batch.results.summary import Results, report_on
from helpers.batch.shards import record
from helpers.finding import Finding
from helpers.report import Report
from helpers.storage import open_storage


def publish(
    plan: Plan, ended: Mapping[str, Ended], folder: Path, lang: str, *, finished: bool = False,
    before: against.Before | None = None, asked: str = "", today: date | None = None,
    stopped: str = "", began: datetime | None = None, beside: tuple[Finding, ...] = (),
) -> Report:  # fmt: skip
    """Writes index.html, report.json, summary.json and junit.xml as things stand; `finished`: nothing more will come.

    `before` is an earlier summary to hold the runs against, `asked` what was asked for (`last`, which may not be there
    yet). `stopped` is who ended it before all had ended: `user`, or a
    `bound`. `today` is the day in UTC by which expected failures are over (default: clock.day), `began` the time of
    this start, `beside` what there is to say of no run: what could not be sent.
    """
    now, storage = datetime.now(timezone.utc), open_storage(str(folder))
    seen = rows_of(plan, ended, folder)
    known, remarks_on_clock = clock.day(folder, now)
    rows, remarks = expected.apply(seen, plan.expect, today or known)
    changes = None
    if before is not None:
        rows, changes = against.compare(rows, before)
    results = Results(plan.name, tuple(rows), finished, tuple(remarks), changes, asked, stopped, beside,
                      remarks_on_clock)  # fmt: skip
    report = write(results, folder, lang)
    record.save(storage, plan, seen, began=began or now, ended=now, finished=finished, stopped=stopped)
    if not finished and not ended:  # before the first begins
        for item in plan.items:
            targets.save(folder / item.name, plan.targets)
    return report


def write(results: Results, folder: Path, lang: str) -> Report:
    """The same of results that are made, and the history of what is finished."""
    report = report_on(results, folder)
    told, storage = content(results, report), open_storage(str(folder))
    storage.write_text("index.html", page.render(results, report, lang))
    storage.write_text("report.json", report.to_json())
    storage.write_text("junit.xml", junit.render(results, lang))
    storage.write_text("summary.json", json.dumps(told, ensure_ascii=False, indent=1))
    if results.finished:
        history.keep(folder, told)
    return report
