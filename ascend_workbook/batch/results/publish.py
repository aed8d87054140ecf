"""Writes what is known of a plan, each file whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, timezone
from pathlib import Path

from ascend_workbook.batch.acceptance import targets
from ascend_workbook.batch.campaign.ended import Ended
from ascend_workbook.batch.plan.model import Plan
from ascend_workbook.batch.results import against, clock, expected, history, junit, page
from ascend_workbook.batch.results.content import summary_content
from ascend_workbook.batch.results.rows import make_rows
from ascend_workbook.batch.results.summary import Results, report_on
from ascend_workbook.batch.shards import record
from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.report import Report
from ascend_workbook.storage import open_storage


def publish_results(
    plan: Plan,
    ended: Mapping[str, Ended],
    folder: Path,
    lang: str,
    *,
    finished: bool = False,
    before: against.Before | None = None,
    asked_for: str = "",
    today: date | None = None,
    stopped: str = "",
    began: datetime | None = None,
    beside: tuple[Finding, ...] = (),
) -> Report:
    """Write index.html, report.json, summary.json and junit.xml as things stand. `finished`: nothing more will come.

    `before` is an earlier summary to hold the runs against, `asked_for` what was asked for (`last`, which may not be
    there yet). `stopped` is who ended it before all had ended: `user`, or a `bound`. `today` is the day in UTC by which
    expected failures are over (default: clock.day), `began` the time of this start, `beside` what there is to say of no
    run: what could not be sent.
    """
    now, storage = datetime.now(timezone.utc), open_storage(str(folder))
    found_rows = make_rows(plan, ended, folder)
    day_by_clock, remarks_on_clock = clock.decide_day(folder, now)
    rows, remarks = expected.apply_expectations(found_rows, plan.expect, today or day_by_clock)
    changes = None
    if before is not None:
        rows, changes = against.compare_runs(rows, before)
    results = Results(
        plan.name, tuple(rows), finished, tuple(remarks), changes, asked_for, stopped, beside, remarks_on_clock
    )
    report = write_results(results, folder, lang)
    record.save_shard(storage, plan, found_rows, began=began or now, ended=now, finished=finished, stopped=stopped)
    if not finished and not ended:  # before the first begins
        for item in plan.items:
            targets.save_targets(folder / item.name, plan.targets)
    return report


def write_results(results: Results, folder: Path, lang: str) -> Report:
    """Write the files of results that are made, and the history of what is finished."""
    report = report_on(results, folder)
    summary, storage = summary_content(results, report), open_storage(str(folder))
    storage.write_text("index.html", page.render_page(results, report, lang))
    storage.write_text("report.json", report.to_json())
    storage.write_text("junit.xml", junit.render_junit(results, lang))
    storage.write_text("summary.json", json.dumps(summary, ensure_ascii=False, indent=1))
    if results.finished:
        history.keep_summary(folder, summary)
    return report
