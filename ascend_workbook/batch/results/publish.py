"""Writes what is known of a plan, each file whole or not at all; summary.json is described by summary.schema.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path
from urllib.parse import quote

from ascend_workbook.batch.acceptance.evidence import save_targets
from ascend_workbook.batch.campaign.ended import DIFFERS, EXPECTED, GOOD, LEFT_OUT, NOT_RUN, Ended
from ascend_workbook.batch.execute import STOPPED
from ascend_workbook.batch.plan.model import Expected, Plan
from ascend_workbook.batch.results import junit
from ascend_workbook.batch.results.history import SCHEMA_VERSION, Before, compare_runs, decide_day, keep_summary
from ascend_workbook.batch.results.rows import NEWLY_RED, Row, apply_expectations, has_ended, make_rows
from ascend_workbook.batch.results.shard import save_shard
from ascend_workbook.batch.results.summary import Results, report_on
from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.errors import Stopped
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, say, show, title
from ascend_workbook.show import template
from ascend_workbook.storage import open_storage


def render_page(results: Results, report: Report, lang: str) -> str:
    """Render the whole page."""
    name = say("run.said", lang, name=title("run", lang), said=results.name)
    count, ran = results.simulated, sum(map(has_ended, results.rows))
    # how many of the runs; which, the table says run by run
    simulated = [say("plan.simulated_of", lang, count=count, runs=ran)] if count < ran else []
    simulated += [say("report.simulated", lang)]
    stages = tuple(dict.fromkeys(stage.stage for row in results.rows for stage in row.stages))
    change = ["change"] if results.changes is not None else []
    heads = ("planned_run", "run_result", *change, *stages, "seconds", "tries", "tier", "tags", "verdict")
    causes: list[dict[str, object]] = []
    for _, rows in results.groups:
        stage = rows[0].red_stage
        # what ended a run from outside is its own to tell, not the stage's
        verdict = show(stage.verdict if stage and stage.state != STOPPED else rows[0].ended.verdict, lang)
        known_error = explain_text(stage.error) if stage and stage.error else None
        causes.append({"rows": rows, "verdict": verdict, "fix": show(known_error.fix, lang) if known_error else ""})
    counts = [(len(results.rows), say("plan.count.runs", lang))]
    counts += [(count, say(word, lang)) for word, count in Counter(row.word for row in results.rows).items()]
    again = sum(row.ended.reused for row in results.rows)
    body = template.render_template(
        "plan.html",
        name=name,
        report=report,
        results=results,
        lang=lang,
        address=link_to,
        files_to_look_at=files_to_look_at,
        simulated=" ".join(simulated) if count else "",
        counts=[*counts, (again, say("plan.count.reused", lang))] if again else counts,
        changes=[finding for finding in report.findings if finding.rule == "RUN411"],
        expected=[*results.clock, *results.remarks],
        reasons=causes,
        most_causes=CAUSES,
        most_runs=RUNS,
        compared=results.changes is not None,
        heads=["#", *(title(head, lang) for head in heads)],  # the plan's order is the column `#`
        lines=[_describe_line(row, stages, lang) for row in sorted(results.rows, key=_urgency_of)],
    )
    return template.render_page(name, body, lang)


def link_to(row: Row, file: str) -> str:
    """Return a relative link to a file of the run; what its name holds is no part of the link's own form."""
    return "/".join(quote(part, safe="") for part in f"{row.place}/{file}".split("/"))


def files_to_look_at(row: Row) -> list[tuple[str, str]]:
    """Return the files that tell why a run is red, with the words of their links: those that are there."""
    stage = f"{row.red_stage.stage}/" if row.red_stage else ""
    pages = [(f"{stage}report.html", "run.link.report"), (f"{stage}notebook.ipynb", "run.link.notebook")]
    files = pages if stage else []
    files += [("reference.html", "plan.link.reference")] if row.state == DIFFERS else []
    return [(file, words) for file, words in (*files, ("log.txt", "plan.link.log")) if file in row.files]


#: Causes shown open, and runs of one cause before the rest is folded.
CAUSES, RUNS = 12, 6


#: Letters of a verdict in a row; the whole stands in the cell's title and on the run's page.
SHORT = 160
#: Files of a run that its line links to.
FILES = ("log.txt", "acceptance.html", "reference.html")


def _urgency_of(row: Row) -> tuple[int, bool, int]:
    """Return a sorting key: red, then what did not run or was expected, then warnings, then good, then left out."""
    order = {NOT_RUN: 1, EXPECTED: 2, LEFT_OUT: 5}
    doubt = 3 if row.status in (Status.LOOK.json, Status.NOT_LOOKED.json) else 4
    return (0 if row.red else order.get(row.state, doubt), row.change != NEWLY_RED, row.number)


def _describe_line(row: Row, stages: tuple[str, ...], lang: str) -> dict[str, object]:
    by_name = {stage.stage: stage for stage in row.stages}
    verdict, tier = show(row.ended.verdict, lang), row.ended.tier
    if row.ended.simulated and "simulated" not in tier:
        tier = f"{tier} ({say('plan.simulated', lang)})"
    before = f" ({row.before_s:g} s)" if row.change == "slower" and row.before_s is not None else ""
    return {
        "row": row,
        "files": [(name, f"plan.link.{name.partition('.')[0]}") for name in FILES if name in row.files],
        "state": say(row.word, lang),
        "status": {
            GOOD: row.status,
            NOT_RUN: Status.NOT_LOOKED.json,
            LEFT_OUT: Status.NOT_LOOKED.json,
            EXPECTED: Status.NOTE.json,
        }.get(row.state, Status.FIX.json),
        "change": say(f"plan.change.{row.change}", lang) if row.change else "",
        "stages": [by_name.get(name) for name in stages],
        "value": str(row.ended.seconds) if has_ended(row) else "",
        "seconds": f"{row.ended.seconds:g} s{before}" if has_ended(row) else "",
        "attempts": say("plan.reused", lang) if row.ended.reused else str(row.ended.attempts or ""),
        "tier": tier,
        "verdict": verdict,
        "short": verdict if len(verdict) <= SHORT else f"{verdict[: SHORT - 1]}…",
    }


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
    run: what could not be sent."""
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
    storage.write_text("index.html", render_page(results, report, lang))
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
    code = {"user": Stopped.EXIT, "bound": 2}.get(results.stopped)
    if code is None and results.finished:  # it has none yet, or was killed
        code = int(report.status is Status.FIX)
    rows = results.rows
    states = {state: results.count_state(state) for state in (EXPECTED, NOT_RUN, LEFT_OUT)}
    counts = {"planned": len(rows), "ended": sum(map(has_ended, rows)), "good": sum(row.good for row in rows)}
    counts |= {"not_looked": results.count_state(GOOD) - counts["good"], "red": len(reds), **states}
    counts |= {"simulated": results.simulated, "reused": sum(row.ended.reused for row in rows)}
    return {
        "schema_version": SCHEMA_VERSION,
        "plan": results.name,
        "created": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "finished": results.finished,
        "complete": results.complete,
        "status": report.status.json,
        "exit_code": code,
        "verdict": {lang: report.verdict(lang) for lang in LANGUAGES},
        "simulated": bool(report.facts["simulated"]),
        "counts": counts,
        "first_red": first and {"run": first.name, "verdict": _in_words(first.ended.verdict), "page": first.page},
        "causes": [{"cause": cause, "runs": [row.name for row in rows]} for cause, rows in results.groups],
        "against": _describe_changes(results),
        "expected": [
            {
                "code": remark.key,
                "message": _message_of(remark),
                "run": remark.args["run"],
                "until": remark.args["until"],
            }
            for remark in results.remarks
        ],
        "shards": [
            {"code": remark.key, "status": remark.status.json, "message": _message_of(remark)}
            for remark in results.shards
        ],
        "runs": [_describe_run(row, red=row in reds) for row in results.rows],
    }


def _message_of(remark: Finding) -> dict[str, str]:
    return {lang: remark.message(lang) for lang in LANGUAGES}


def _in_words(value: Scalar) -> dict[str, str]:
    """Return a sentence in each language."""
    return {lang: show(value, lang) for lang in LANGUAGES}


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
        "verdict": _in_words(ended.verdict),
        "cause": row.cause,
        "change": row.change,
        "before_seconds": row.before_s,
        **{name: getattr(ended, name) for name in RUN_FIELDS},
        "cards": list(ended.cards),
        "where": ended.where,
        "notes": [_in_words(note) for note in ended.notes],
        "tags": list(row.tags),
        "parameters": dict(row.parameters or {}),
        "page": row.page,
        "expected_until": row.expected.until if row.expected else None,
        "stages": [
            {**{name: getattr(stage, name) for name in STAGE_FIELDS}, "verdict": _in_words(stage.verdict)}
            for stage in row.stages
        ],
    }
