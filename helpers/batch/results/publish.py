"""Writes what is known of a plan, each file whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, timezone
from pathlib import Path

from helpers.batch.acceptance import targets
from helpers.batch.campaign.ended import Ended
from helpers.batch.plan.model import Plan
from helpers.batch.results import against, expected, history, junit, page
from helpers.batch.results.content import content
from helpers.batch.results.rows import rows_of
from helpers.batch.results.summary import Results, report_on
from helpers.report import Report
from helpers.storage import open_storage


def publish(
    plan: Plan, ended: Mapping[str, Ended], folder: Path, lang: str, *, finished: bool = False,
    before: against.Before | None = None, asked: str = "", today: date | None = None,
    stopped: str = "",
) -> Report:  # fmt: skip
    """Writes index.html, report.json, summary.json and junit.xml as things stand; `finished`: nothing more will come.

    `before` is an earlier summary to hold the runs against, `asked` what was asked for (`last`, which may not be there
    yet). `stopped` is who ended it before all had ended: `user`, or a
    `bound`. `today` is the day in UTC by which expected failures are over.
    """
    rows, remarks = expected.apply(rows_of(plan, ended, folder), plan.expect, today or _today())
    changes = None
    if before is not None:
        rows, changes = against.compare(rows, before)
    results = Results(plan.name, tuple(rows), finished, tuple(remarks), changes, asked, stopped)
    report = report_on(results, folder)
    told = content(results, report)
    storage = open_storage(str(folder))
    storage.write_text("index.html", page.render(results, report, folder, lang))
    storage.write_text("report.json", report.to_json())
    storage.write_text("junit.xml", junit.render(results, lang))
    storage.write_text("summary.json", json.dumps(told, ensure_ascii=False, indent=1))
    if finished:
        history.keep(folder, told)
    elif not ended:  # before the first begins
        for item in plan.items:
            targets.save(folder / item.name, plan.targets)
    return report


def _today() -> date:
    return datetime.now(timezone.utc).date()
