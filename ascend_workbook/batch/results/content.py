"""summary.json: what a CI server or a script asks first, in plain words; summary.schema.json describes it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from ascend_workbook.batch.campaign.ended import EXPECTED, GOOD, LEFT_OUT, NOT_RUN
from ascend_workbook.batch.results.expected import has_ended
from ascend_workbook.batch.results.history import SCHEMA_VERSION
from ascend_workbook.batch.results.rows import Row, StageRow
from ascend_workbook.batch.results.summary import Results
from ascend_workbook.findings.errors import Stopped
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, show


def summary_content(results: Results, report: Report) -> dict[str, Any]:
    """Return the content of summary.json. `created` is a time in UTC."""
    reds = results.reds
    first = next(iter(reds), None)
    summary: dict[str, Any] = {
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
    }
    summary["causes"] = [{"cause": cause, "runs": [row.name for row in rows]} for cause, rows in results.groups]
    summary["against"] = _describe_changes(results)
    summary["expected"] = [
        {
            "code": remark.key,
            "message": {lang: remark.message(lang) for lang in LANGUAGES},
            "run": remark.args["run"],
            "until": remark.args["until"],
        }
        for remark in results.remarks
    ]
    summary["shards"] = [
        {
            "code": remark.key,
            "status": remark.status.name,
            "message": {lang: remark.message(lang) for lang in LANGUAGES},
        }
        for remark in results.shards
    ]
    summary["runs"] = [_describe_run(row, red=row in reds) for row in results.rows]
    return summary


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


def _describe_changes(results: Results) -> dict[str, Any] | None:
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


def _describe_run(row: Row, *, red: bool) -> dict[str, Any]:
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
        "tier": ended.tier,
        "simulated": ended.simulated,
        "seconds": ended.seconds,
        "attempts": ended.attempts,
        "reused": ended.reused,
        "peak_mb": ended.peak_mb,
        "cards": list(ended.cards),
        "where": ended.where,
        "notes": [in_all_languages(note) for note in ended.notes],
        "tags": list(row.tags),
        "parameters": dict(row.parameters or {}),
        "page": row.page,
        "expected_until": row.expected.until if row.expected else None,
        "stages": [_describe_stage(stage) for stage in row.stages],
    }


def _describe_stage(stage: StageRow) -> dict[str, Any]:
    return {
        "stage": stage.stage,
        "state": stage.state,
        "status": stage.status,
        "verdict": in_all_languages(stage.verdict),
        "tier": stage.tier,
        "seconds": stage.seconds,
        "reused": stage.reused,
    }
