"""A plan's page: the sentence first, then what changed, why runs are red, and a row per run. Static, opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from helpers.batch.results.expected import ended
from helpers.batch.results.links import where_to_look
from helpers.batch.results.reasons import reasons
from helpers.batch.results.rows import Row
from helpers.batch.results.summary import Results
from helpers.batch.results.table import table
from helpers.finding import Finding
from helpers.report import Report
from helpers.view import html
from helpers.words import say, title

STYLE = """
.aw .plan td, .aw .plan th { padding: .2em .5em; } .aw .plan .badge { font-size: .85em; padding: 0 .35em; }
.aw .plan .files { font-size: .85em; white-space: nowrap; }
.aw .plan .browse:has(td.s) td:not(.why):not(.name) { min-width: 2.5em; }
.aw .plan .browse:has(td.s) td.why:not(.s):not(.k) { min-width: 20em; } .aw .plan .browse select { max-width: 6em; }
.aw .plan .browse:has(td.s) td.name:not(.s):not(.k) { min-width: 13em; overflow-wrap: anywhere; }
.aw .badge.plain { background: #6e7781; } .aw .first { font-size: 1.02em; margin: .2em 0 .8em; }
.aw .counts span { margin-right: 1.2em; white-space: nowrap; } .aw .counts b { font-size: 1.25em; }
.aw a.badge { text-decoration: none; } .aw .reasons li, .aw .changes li { margin: .3em 0; }
"""


def render(results: Results, report: Report, lang: str) -> str:
    """The whole page."""
    name = say("run.said", lang, name=title("run", lang), said=results.name)
    pieces = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="verdict">{html.badge(report.status.name)} {escape(report.verdict(lang))}</p>',
        _first(results.reds, lang),
        _simulated(results, lang),
        _counts(results, report, lang),
        _list("shards", f"plan.heading.{results.beside}", results.shards, lang),
        _list("changes", "plan.heading.changes", [one for one in report.findings if one.rule == "RUN411"], lang),
        reasons(results, lang),
        _list("expected", "plan.heading.expected", [*results.clock, *results.remarks], lang),
        table(results, lang),
    ]
    body = "\n".join(filter(None, pieces))
    return html.page(name, f'<style>{STYLE}</style><div class="aw">{body}</div>{html.scripts(body)}', lang)


def _simulated(results: Results, lang: str) -> str:
    """How many of the runs; which, the table says run by run."""
    count, ran = results.simulated, sum(map(ended, results.rows))
    if not count:
        return ""
    said = [say("plan.simulated_of", lang, count=count, runs=ran)] if count < ran else []
    return f'<p class="simulated">{escape(" ".join([*said, say("report.simulated", lang)]))}</p>'


def _first(reds: Sequence[Row], lang: str) -> str:
    """Where to begin."""
    if not reds:
        return ""
    said = say("plan.first_red", lang)
    return f'<p class="first">→ {escape(said)} {where_to_look(reds[0], lang)}</p>'


def _counts(results: Results, report: Report, lang: str) -> str:
    rows = results.rows
    states = dict.fromkeys(row.state for row in rows)
    told = [f"<span><b>{len(rows)}</b> {escape(say('plan.count.runs', lang))}</span>"]
    told += [f"<span><b>{results.count(state)}</b> {escape(say(f'plan.state.{state}', lang))}</span>"
             for state in states]  # fmt: skip
    if again := sum(row.ended.reused for row in rows):
        told.append(f"<span><b>{again}</b> {escape(say('plan.count.reused', lang))}</span>")
    when = f"<span>{escape(report.created.replace('T', ' ')[:16])} UTC</span>"
    files = " · ".join(f'<a href="{name}">{name}</a>' for name in ("summary.json", "junit.xml"))
    return f'<p class="counts">{"".join(told)}{when}{files}</p>'


def _list(name: str, heading: str, findings: Sequence[Finding], lang: str) -> str:
    lines = "".join(_line(one, lang) for one in findings)
    return f'<h2>{escape(say(heading, lang))}</h2><ul class="{name}">{lines}</ul>' if lines else ""


def _line(one: Finding, lang: str) -> str:
    hint = one.hint(lang)
    after = f'<br><span class="hint">→ {escape(hint)}</span>' if hint else ""
    return f"<li>{html.badge(one.status.name)} {escape(one.message(lang))}{after}</li>"
