"""A plan's page: the sentence first, then what changed, why runs are red, and a row per run. Static, opens offline."""

from __future__ import annotations

from ascend_workbook.batch.results.expected import has_ended
from ascend_workbook.batch.results.links import files_to_look_at, link_to
from ascend_workbook.batch.results.reasons import CAUSES, RUNS, describe_causes
from ascend_workbook.batch.results.summary import Results
from ascend_workbook.batch.results.table import table_heads, table_lines
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say, title
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
