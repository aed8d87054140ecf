"""summary.json: what a CI server or a script asks first, in plain words; summary.schema.json describes it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from helpers.batch.campaign.ended import EXPECTED, GOOD, LEFT_OUT, NOT_RUN
from helpers.batch.results.expected import ended
from helpers.batch.results.history import SCHEMA_VERSION
from helpers.batch.results.rows import Row, StageRow
from helpers.batch.results.summary import Results
from helpers.errors import Stopped
from helpers.finding import Status
from helpers.report import Report
from helpers.words import LANGUAGES, Scalar, show


def content(results: Results, report: Report) -> dict[str, Any]:
    """As JSON keeps it. `created` is a time in UTC."""
    reds = results.reds
    first = next(iter(reds), None)
    told: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION, "plan": results.name,
        "created": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "finished": results.finished, "complete": results.complete, "status": report.status.name,
        "exit_code": _exit_code(results, report),
        "verdict": {lang: report.verdict(lang) for lang in LANGUAGES},
        "simulated": bool(report.facts["simulated"]), "counts": _counts(results),
        "first_red": first and {"run": first.name, "verdict": said(first.ended.verdict), "page": first.page},
    }  # fmt: skip
    told["causes"] = [{"cause": cause, "runs": [row.name for row in rows]} for cause, rows in results.groups]
    told["against"] = _against(results)
    told["expected"] = [{"code": one.key, "message": {lang: one.message(lang) for lang in LANGUAGES},
                         "run": one.args["run"], "until": one.args["until"]} for one in results.remarks]  # fmt: skip
    told["shards"] = [{"code": one.key, "status": one.status.name, "message": {lang: one.message(lang) for lang in
                       LANGUAGES}} for one in results.shards]  # fmt: skip
    told["runs"] = [_run(row, red=row in reds) for row in results.rows]
    return told


def _exit_code(results: Results, report: Report) -> int | None:
    """As the command's own; None where it has none yet, or was killed."""
    stopped = {"user": Stopped.EXIT, "bound": 2}
    if not results.finished and results.stopped not in stopped:
        return None
    return stopped.get(results.stopped) or int(report.status is Status.FAIL)


def said(value: Scalar) -> dict[str, str]:
    """A sentence in each language."""
    return {lang: show(value, lang) for lang in LANGUAGES}


def _counts(results: Results) -> dict[str, int]:
    rows = results.rows
    return {
        "planned": len(rows), "ended": sum(map(ended, rows)), "good": results.count(GOOD), "red": len(results.reds),
        "expected": results.count(EXPECTED), "not_run": results.count(NOT_RUN), "left_out": results.count(LEFT_OUT),
        "simulated": results.simulated, "reused": sum(row.ended.reused for row in rows),
    }  # fmt: skip


def _against(results: Results) -> dict[str, Any] | None:
    found = results.changes
    if found is None:
        return None
    kinds = ("newly_red", "still_red", "fixed", "slower", "lower_tier", "new")
    return {"summary": found.before.place, "created": found.before.created,
            **{kind: found.names(kind) for kind in kinds}, "gone": list(found.gone),
            "uncompared": list(found.uncompared)}  # fmt: skip


def _run(row: Row, *, red: bool) -> dict[str, Any]:
    one = row.ended
    key = one.verdict["say"] if isinstance(one.verdict, dict) and "say" in one.verdict else ""
    return {
        "name": one.name, "state": one.state, "red": red, "status": row.status, "code": key,
        "verdict": said(one.verdict), "cause": row.cause, "change": row.change, "before_seconds": row.before_s,
        "tier": one.tier, "simulated": one.simulated, "seconds": one.seconds, "attempts": one.attempts,
        "reused": one.reused, "peak_mb": one.peak_mb, "cards": list(one.cards), "where": one.where,
        "notes": [said(note) for note in one.notes], "tags": list(row.tags),
        "parameters": dict(row.parameters or {}), "page": row.page,
        "expected_until": row.expected.until if row.expected else None,
        "stages": [_stage(stage) for stage in row.stages],
    }  # fmt: skip


def _stage(stage: StageRow) -> dict[str, Any]:
    return {"stage": stage.stage, "state": stage.state, "status": stage.status, "verdict": said(stage.verdict),
            "tier": stage.tier, "seconds": stage.seconds, "reused": stage.reused}  # fmt: skip
