"""Writes what is known of a plan, each file whole or not at all; summary.json is described by summary.schema.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path

from ascend_workbook.batch.acceptance.evidence import save_targets
from ascend_workbook.batch.campaign.ended import EXPECTED, GOOD, LEFT_OUT, NOT_RUN, Ended
from ascend_workbook.batch.plan.model import Expected, Plan
from ascend_workbook.batch.results import junit, page
from ascend_workbook.batch.results.expected import apply_expectations, has_ended
from ascend_workbook.batch.results.history import SCHEMA_VERSION, Before, compare_runs, decide_day, keep_summary
from ascend_workbook.batch.results.rows import Row, make_rows
from ascend_workbook.batch.results.shard import save_shard
from ascend_workbook.batch.results.summary import Results, report_on
from ascend_workbook.findings.errors import Stopped
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, show
from ascend_workbook.storage import open_storage

#: What summary.json has of a run, and of a stage, in this order.
RUN_FIELDS = ("tier", "simulated", "seconds", "attempts", "reused", "peak_mb")
STAGE_FIELDS = ("stage", "state", "status", "verdict", "tier", "seconds", "reused")


def publish_results(
    plan: Plan,
    ended: Mapping[str, Ended],
    folder: Path,
    lang: str,
    *,
    finished: bool = False,
    before: Before | None = None,
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
    now, found_rows = datetime.now(timezone.utc), make_rows(plan, ended, folder)
    results = Results(plan.name, tuple(found_rows), finished, asked=asked_for, stopped=stopped, shards=beside)
    report = write_results(results, plan.expect, folder, lang, before=before, today=today)
    storage = open_storage(str(folder))
    save_shard(storage, plan, found_rows, began=began or now, ended=now, finished=finished, stopped=stopped)
    if not finished and not ended:  # before the first begins
        for item in plan.items:
            save_targets(folder / item.name, plan.targets)
    return report


def write_results(
    results: Results,
    expect: tuple[Expected, ...],
    folder: Path,
    lang: str,
    *,
    before: Before | None = None,
    today: date | None = None,
) -> Report:
    """Judge the runs by what was expected and by an earlier time; write their files, and the history of what is
    finished."""
    day_by_clock, clock = decide_day(folder, datetime.now(timezone.utc))
    rows, remarks = apply_expectations(results.rows, expect, today or day_by_clock)
    changes = None
    if before is not None:
        rows, changes = compare_runs(rows, before)
    results = replace(results, rows=tuple(rows), remarks=tuple(remarks), changes=changes, clock=clock)
    report = report_on(results, folder)
    summary, storage = summary_content(results, report), open_storage(str(folder))
    storage.write_text("index.html", page.render_page(results, report, lang))
    storage.write_text("report.json", report.to_json())
    storage.write_text("junit.xml", junit.render_junit(results, lang))
    storage.write_text("summary.json", json.dumps(summary, ensure_ascii=False, indent=1))
    if results.finished:
        keep_summary(folder, summary)
    return report


def summary_content(results: Results, report: Report) -> dict[str, object]:
    """Return the content of summary.json. `created` is a time in UTC."""
    reds = results.reds
    first = next(iter(reds), None)
    return {
        "schema_version": SCHEMA_VERSION,
        "plan": results.name,
        "created": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "finished": results.finished,
        "complete": results.complete,
        "status": report.status.name,
        "exit_code": _exit_code(results, report),
        "verdict": {lang: report.verdict(lang) for lang in LANGUAGES},
        "simulated": bool(report.facts["simulated"]),
        "counts": _count_runs(results),
        "first_red": first
        and {"run": first.name, "verdict": in_all_languages(first.ended.verdict), "page": first.page},
        "causes": [{"cause": cause, "runs": [row.name for row in rows]} for cause, rows in results.groups],
        "against": _describe_changes(results),
        "expected": [
            {"code": remark.key, "message": _in_words(remark), **{name: remark.args[name] for name in ("run", "until")}}
            for remark in results.remarks
        ],
        "shards": [
            {"code": remark.key, "status": remark.status.name, "message": _in_words(remark)}
            for remark in results.shards
        ],
        "runs": [_describe_run(row, red=row in reds) for row in results.rows],
    }


def _in_words(remark: Finding) -> dict[str, str]:
    return {lang: remark.message(lang) for lang in LANGUAGES}


def _exit_code(results: Results, report: Report) -> int | None:
    """Return the command's exit code; None where it has none yet, or was killed."""
    stopped = {"user": Stopped.EXIT, "bound": 2}
    if not results.finished and results.stopped not in stopped:
        return None
    return stopped.get(results.stopped) or int(report.status is Status.FAIL)


def in_all_languages(value: Scalar) -> dict[str, str]:
    """Return a sentence in each language."""
    return {lang: show(value, lang) for lang in LANGUAGES}


def _count_runs(results: Results) -> dict[str, int]:
    rows = results.rows
    return {
        "planned": len(rows),
        "ended": sum(map(has_ended, rows)),
        "good": results.count_state(GOOD),
        "red": len(results.reds),
        "expected": results.count_state(EXPECTED),
        "not_run": results.count_state(NOT_RUN),
        "left_out": results.count_state(LEFT_OUT),
        "simulated": results.simulated,
        "reused": sum(row.ended.reused for row in rows),
    }


def _describe_changes(results: Results) -> dict[str, object] | None:
    changes = results.changes
    if changes is None:
        return None
    kinds = ("newly_red", "still_red", "fixed", "slower", "lower_tier", "new")
    return {
        "summary": changes.before.place,
        "created": changes.before.created,
        **{kind: changes.names_of(kind) for kind in kinds},
        "gone": list(changes.gone),
        "uncompared": list(changes.uncompared),
    }


def _describe_run(row: Row, *, red: bool) -> dict[str, object]:
    ended = row.ended
    key = ended.verdict["say"] if isinstance(ended.verdict, dict) and "say" in ended.verdict else ""
    return {
        "name": ended.name,
        "state": ended.state,
        "red": red,
        "status": row.status,
        "code": key,
        "verdict": in_all_languages(ended.verdict),
        "cause": row.cause,
        "change": row.change,
        "before_seconds": row.before_s,
        **{name: getattr(ended, name) for name in RUN_FIELDS},
        "cards": list(ended.cards),
        "where": ended.where,
        "notes": [in_all_languages(note) for note in ended.notes],
        "tags": list(row.tags),
        "parameters": dict(row.parameters or {}),
        "page": row.page,
        "expected_until": row.expected.until if row.expected else None,
        "stages": [
            {**{name: getattr(stage, name) for name in STAGE_FIELDS}, "verdict": in_all_languages(stage.verdict)}
            for stage in row.stages
        ],
    }
