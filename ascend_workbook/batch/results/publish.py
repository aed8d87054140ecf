"""Writes what is known of a plan, each file whole or not at all; summary.json is described by summary.schema.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ascend_workbook.batch.acceptance.evidence import save_targets
from ascend_workbook.batch.campaign.ended import EXPECTED, GOOD, LEFT_OUT, NOT_RUN, Ended
from ascend_workbook.batch.execute import STOPPED
from ascend_workbook.batch.plan.model import Expected, Plan
from ascend_workbook.batch.results import junit
from ascend_workbook.batch.results.history import (
    SCHEMA_VERSION,
    Before,
    compare_runs,
    decide_day,
    keep_summary,
    load_history,
)
from ascend_workbook.batch.results.rows import NEWLY_RED, Row, apply_expectations, has_ended, make_rows
from ascend_workbook.batch.results.shard import save_shard
from ascend_workbook.batch.results.summary import Results, report_on
from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.errors import Stopped
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, Sentence, say, show, title
from ascend_workbook.page.render import load_data, render_data
from ascend_workbook.page.reports import describe_finding, describe_report
from ascend_workbook.page.tables import pack_table, read_status
from ascend_workbook.page.texts import Text, in_both, number_of, say_both, show_both, title_both
from ascend_workbook.storage import open_storage


def describe_plan(results: Results, report: Report, folder: Path) -> dict[str, Any]:
    """Describe a plan for its page: counts, causes, a card for each of the first runs, a row for every run, trends."""
    stages = tuple(dict.fromkeys(stage.stage for row in results.rows for stage in row.stages))
    rows = sorted(results.rows, key=_urgency_of)
    again = sum(row.ended.reused for row in results.rows)
    counts: list[tuple[int, str]] = [(len(rows), "plan.count.runs"), *_count_words(rows)]
    counts += [(again, "plan.count.reused")] if again else []
    changes = [finding for finding in report.findings if finding.rule == "RUN411"]
    ran = sum(map(has_ended, rows))
    simulated = results.simulated
    few = (
        in_both(
            lambda lang: say("plan.simulated_of", lang, count=simulated, runs=ran) + " " + say("report.simulated", lang)
        )
        if 0 < simulated < ran
        else ""
    )
    return {
        "kind": "plan",
        "name": in_both(lambda lang: say("run.said", lang, name=title("run", lang), said=results.name)),
        "created": report.created,
        "running": not results.finished and not results.stopped,
        "simulated": simulated > 0,
        "status": number_of(report.status),
        "verdict": in_both(report.verdict),
        "findings": [
            describe_finding(finding) for finding in (*results.shards, *changes, *results.clock, *results.remarks)
        ],
        "plan": {
            "counts": [[count, say_both(word)] for count, word in counts],
            "note": few,
            "stages": [title_both(stage) for stage in stages],
            "rows": [_describe_card(row, stages) for row in rows[:CARDS]],
            "causes": [_describe_cause(group) for _, group in results.groups[:CAUSES]],
            "more_causes": max(0, len(results.groups) - CAUSES),
            "table": _pack_rows(rows, stages, compared=results.changes is not None),
            "trends": _pack_trends(folder),
        },
    }


def show_acceptance(report: Report, folder: Path, lang: str | None = None) -> None:
    """Put what `accept` said of a plan on the plan's page, as the page stands, each run's name linked to its own; a
    page of an older version is left as it is."""
    page = folder / "index.html"
    data = load_data(page.read_text(encoding="utf-8")) if page.is_file() else None
    if data is None or data.get("kind") != "plan":
        return
    described = describe_report(report)
    places = [finding.place for finding in report.findings[1:]]
    links = [quote(place.path) if place and (folder / place.path).is_file() else None for place in places]
    described["table"]["columns"][0]["links"] = links
    text = render_data({**data, "acceptance": described}, lang or data["lang"], folder)
    open_storage(str(folder)).write_text("index.html", text)


def _count_words(rows: Sequence[Row]) -> list[tuple[int, str]]:
    return [(count, word) for word, count in Counter(row.word for row in rows).items()]


def link_to(row: Row, file: str) -> str:
    """Return a relative link to a file of the run; what its name holds is no part of the link's own form."""
    return "/".join(quote(part, safe="") for part in f"{row.place}/{file}".split("/"))


def files_to_look_at(row: Row) -> list[tuple[str, str]]:
    """Return the files that tell why a run is red, with the words of their links: those that are there."""
    stage = f"{row.red_stage.stage}/" if row.red_stage else ""
    files = [(f"{stage}notebook.ipynb", "plan.link.notebook")] if stage else []
    return [(file, words) for file, words in (*files, ("log.txt", "plan.link.log")) if file in row.files]


#: Causes that are told, and runs that have a card.
CAUSES, CARDS = 40, 60
#: Letters of a verdict on a card; the whole stands in the table and on the run's page.
SHORT = 160


def _urgency_of(row: Row) -> tuple[int, bool, int]:
    """Return a sorting key: red, then what did not run or was expected, then warnings, then good, then left out."""
    order = {NOT_RUN: 1, EXPECTED: 2, LEFT_OUT: 5}
    doubt = 3 if row.status in (Status.LOOK.json, Status.NOT_LOOKED.json) else 4
    return (0 if row.red else order.get(row.state, doubt), row.change != NEWLY_RED, row.number)


def _shown_status(row: Row) -> str:
    """Return the status in whose colour a run is shown: what did not end well has none of Good's."""
    unseen = Status.NOT_LOOKED.json
    shown = {GOOD: row.status, NOT_RUN: unseen, LEFT_OUT: unseen, EXPECTED: Status.NOTE.json}
    return shown.get(row.state, Status.FIX.json)


def _describe_card(row: Row, stages: tuple[str, ...]) -> dict[str, object]:
    by_name = {stage.stage: stage for stage in row.stages}
    verdict = show_both(row.ended.verdict)
    cut = [text if len(text) <= SHORT else f"{text[: SHORT - 1]}…" for text in _as_pair(verdict)]
    return {
        "name": row.name,
        "href": link_to(row, "index.html") if row.page else None,
        "status": read_status(_shown_status(row)),
        "simulated": row.ended.simulated,
        "stages": [read_status(by_name[name].status) if name in by_name else None for name in stages],
        "verdict": cut,
    }


def _as_pair(text: Text) -> list[str]:
    return [text, text] if isinstance(text, str) else text


def _describe_cause(rows: Sequence[Row]) -> dict[str, object]:
    stage = rows[0].red_stage
    # what ended a run from outside is its own to tell, not the stage's
    verdict = stage.verdict if stage and stage.state != STOPPED else rows[0].ended.verdict
    known_error = explain_text(stage.error) if stage and stage.error else None
    runs = [{"name": row.name, "href": link_to(row, "index.html") if row.page else None} for row in rows[:CARDS]]
    files = [{"href": link_to(rows[0], file), "word": say_both(word)} for file, word in files_to_look_at(rows[0])]
    fix = show_both(known_error.fix) if known_error else ""
    return {"cause": show_both(verdict), "fix": fix, "count": len(rows), "runs": runs, "files": files}


def _pack_rows(rows: Sequence[Row], stages: tuple[str, ...], *, compared: bool) -> dict[str, Any]:
    """Pack a row for every run, most urgent first, the name linked to its page."""
    change = ["change"] if compared else []
    names = ("plan_number", "planned_run", "status", "run_result", *change, *stages, "seconds", "tries", "tier", "tags")
    cells = []
    for row in rows:
        by_name = {stage.stage: stage for stage in row.stages}
        tier = row.ended.tier
        if row.ended.simulated and "simulated" not in tier:
            tier = f"{tier} (simulated)"
        line: list[Scalar] = [row.number, row.name, _shown_status(row), Sentence(row.word)]
        line += [Sentence(f"plan.change.{row.change}") if row.change else ""] if compared else []
        line += [by_name[name].status if name in by_name else None for name in stages]
        line += [
            row.ended.seconds if has_ended(row) else None,
            Sentence("plan.reused") if row.ended.reused else str(row.ended.attempts or ""),
        ]
        cells.append((*line, tier, " ".join(row.tags), row.ended.verdict))
    units = {"seconds": "s"}
    table = Table(tuple(Column(name, units.get(name, "")) for name in (*names, "verdict")), tuple(cells))
    packed = pack_table(table, statuses=stages)
    packed["columns"][1]["links"] = [link_to(row, "index.html") if row.page else None for row in rows]
    return packed


def _pack_trends(folder: Path) -> dict[str, Any] | None:
    """Pack the earlier times of the plan, a row each, the last at the end; None where there are fewer than two."""
    summaries = load_history(folder)
    if len(summaries) < 2:
        return None
    names = ("plan_when", "plan_good", "plan_red", "plan_not_looked")
    cells = []
    for summary in summaries:
        counts = summary["counts"]
        times = [run["seconds"] for run in summary["runs"] if isinstance(run.get("seconds"), (int, float))]
        numbers = [counts.get(name) for name in ("good", "red", "not_looked")]
        cells.append((str(summary["created"])[:16].replace("T", " "), *numbers, round(sum(times), 1)))
    columns = (*map(Column, names), Column("seconds", "s"))
    return pack_table(Table(columns, tuple(cells)))


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
    (folder / "acceptance.json").unlink(missing_ok=True)  # that of an earlier time is none of these results
    report = report_on(results, folder)
    summary, storage = summary_content(results, report), open_storage(str(folder))
    storage.write_text("report.json", report.to_json())
    storage.write_text("junit.xml", junit.render_junit(results, lang))
    storage.write_text("summary.json", json.dumps(summary, ensure_ascii=False, indent=1))
    if results.finished:
        keep_summary(folder, summary)
    storage.write_text("index.html", render_data(describe_plan(results, report, folder), lang, folder))
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
