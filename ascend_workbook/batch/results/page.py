"""A plan's page: the sentence first, then what changed, why runs are red, and a row per run. Static, opens offline."""

from __future__ import annotations

from urllib.parse import quote

from ascend_workbook.batch.campaign.ended import DIFFERS, EXPECTED, GOOD, LEFT_OUT, NOT_RUN
from ascend_workbook.batch.execute import STOPPED
from ascend_workbook.batch.results.expected import has_ended
from ascend_workbook.batch.results.rows import NEWLY_RED, Row
from ascend_workbook.batch.results.summary import Results
from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say, show, title
from ascend_workbook.show import template


def render_page(results: Results, report: Report, lang: str) -> str:
    """Render the whole page."""
    name = say("run.said", lang, name=title("run", lang), said=results.name)
    body = template.render_template(
        "plan.html",
        name=name,
        report=report,
        results=results,
        lang=lang,
        address=link_to,
        files_to_look_at=files_to_look_at,
        simulated=_describe_simulated(results, lang),
        counts=_count_states(results, lang),
        changes=[finding for finding in report.findings if finding.rule == "RUN411"],
        expected=[*results.clock, *results.remarks],
        reasons=describe_causes(results, lang),
        most_causes=CAUSES,
        most_runs=RUNS,
        compared=results.changes is not None,
        heads=table_heads(results, lang),
        lines=table_lines(results, lang),
    )
    return template.render_page(name, body, lang)


def _describe_simulated(results: Results, lang: str) -> str:
    """Say how many of the runs; which, the table says run by run."""
    count, ran = results.simulated, sum(map(has_ended, results.rows))
    if not count:
        return ""
    before = [say("plan.simulated_of", lang, count=count, runs=ran)] if count < ran else []
    return " ".join([*before, say("report.simulated", lang)])


def _count_states(results: Results, lang: str) -> list[tuple[int, str]]:
    """Count the runs: all, by state, and those that were reused."""
    states = dict.fromkeys(row.state for row in results.rows)
    counts = [(len(results.rows), say("plan.count.runs", lang))]
    counts += [(results.count_state(state), say(f"plan.state.{state}", lang)) for state in states]
    again = sum(row.ended.reused for row in results.rows)
    return [*counts, (again, say("plan.count.reused", lang))] if again else counts


def link_to(row: Row, file: str) -> str:
    """Return a relative link to a file of the run; what its name holds is no part of the link's own form."""
    return "/".join(quote(part, safe="") for part in f"{row.place}/{file}".split("/"))


def files_to_look_at(row: Row) -> list[tuple[str, str]]:
    """Return the files that tell why a run is red, with the words of their links: those that are there."""
    stage = f"{row.red_stage.stage}/" if row.red_stage else ""
    files = (
        [(f"{stage}report.html", "run.link.report"), (f"{stage}notebook.ipynb", "run.link.notebook")] if stage else []
    )
    files += [("reference.html", "plan.link.reference")] if row.state == DIFFERS else []
    return [(file, words) for file, words in (*files, ("log.txt", "plan.link.log")) if file in row.files]


#: Causes shown open, and runs of one cause before the rest is folded.
CAUSES, RUNS = 12, 6


def describe_causes(results: Results, lang: str) -> list[dict[str, object]]:
    """Describe each cause; none where nothing is red."""
    causes: list[dict[str, object]] = []
    for _, rows in results.groups:
        stage = rows[0].red_stage
        # what ended a run from outside is its own to tell, not the stage's
        verdict = show(stage.verdict if stage and stage.state != STOPPED else rows[0].ended.verdict, lang)
        known_error = explain_text(stage.error) if stage and stage.error else None
        causes.append({"rows": rows, "verdict": verdict, "fix": show(known_error.fix, lang) if known_error else ""})
    return causes


#: Letters of a verdict in a row; the whole stands in the cell's title and on the run's page.
SHORT = 160
#: Files of a run that its line links to.
FILES = ("log.txt", "acceptance.html", "reference.html")


def stages_of(results: Results) -> tuple[str, ...]:
    """Return the stages that have a column."""
    return tuple(dict.fromkeys(stage.stage for row in results.rows for stage in row.stages))


def table_heads(results: Results, lang: str) -> list[str]:
    """Return the headings. The plan's order is the column `#`."""
    change = ["change"] if results.changes is not None else []
    names = ("planned_run", "run_result", *change, *stages_of(results), "seconds", "tries", "tier", "tags", "verdict")
    return ["#", *(title(name, lang) for name in names)]


def table_lines(results: Results, lang: str) -> list[dict[str, object]]:
    """Describe each run's line, the most urgent first."""
    stages = stages_of(results)
    return [_describe_line(row, stages, lang) for row in sorted(results.rows, key=_urgency_of)]


def _urgency_of(row: Row) -> tuple[int, bool, int]:
    """Return a sorting key: red, then what did not run or was expected, then warnings, then good, then left out."""
    order = {NOT_RUN: 1, EXPECTED: 2, LEFT_OUT: 5}
    doubt = 3 if row.status in ("WARN", "SKIPPED") else 4
    return (0 if row.red else order.get(row.state, doubt), row.change != NEWLY_RED, row.number)


def _describe_line(row: Row, stages: tuple[str, ...], lang: str) -> dict[str, object]:
    by_name = {stage.stage: stage for stage in row.stages}
    verdict = show(row.ended.verdict, lang)
    return {
        "row": row,
        "files": [(name, f"plan.link.{name.partition('.')[0]}") for name in FILES if name in row.files],
        "state": say(f"plan.state.{row.state}", lang),
        "status": {GOOD: row.status, NOT_RUN: "SKIPPED", LEFT_OUT: "SKIPPED", EXPECTED: "NOTE"}.get(row.state, "FAIL"),
        "change": say(f"plan.change.{row.change}", lang) if row.change else "",
        "stages": [by_name.get(name) for name in stages],
        "value": str(row.ended.seconds) if has_ended(row) else "",
        "seconds": _format_seconds(row),
        "attempts": say("plan.reused", lang) if row.ended.reused else str(row.ended.attempts or ""),
        "tier": _format_tier(row, lang),
        "verdict": verdict,
        "short": verdict if len(verdict) <= SHORT else f"{verdict[: SHORT - 1]}…",
    }


def _format_seconds(row: Row) -> str:
    if not has_ended(row):
        return ""
    before = f" ({row.before_s:g} s)" if row.change == "slower" and row.before_s is not None else ""
    return f"{row.ended.seconds:g} s{before}"


def _format_tier(row: Row, lang: str) -> str:
    tier = row.ended.tier
    return f"{tier} ({say('plan.simulated', lang)})" if row.ended.simulated and "simulated" not in tier else tier
