"""Why runs are red: those of one cause together, the cause of most first."""

from __future__ import annotations

from html import escape

from helpers.batch.execute import STOPPED
from helpers.batch.results.links import run_link, where_to_look
from helpers.batch.results.rows import Row
from helpers.batch.results.summary import Results
from helpers.diagnosis import explanation
from helpers.view.html import badge
from helpers.words import say, show

#: Causes shown open, and runs of one cause before the rest is folded.
CAUSES, RUNS = 12, 6


def reasons(results: Results, lang: str) -> str:
    """The list; nothing where nothing is red."""
    groups = results.groups
    if not groups:
        return ""
    lines = [_group(rows, lang) for _, rows in groups]
    shown = f'<ul class="reasons">{"".join(lines[:CAUSES])}</ul>'
    if rest := lines[CAUSES:]:
        said = escape(say("plan.more_causes", lang, count=len(rest)))
        shown += f'<details><summary>{said}</summary><ul class="reasons">{"".join(rest)}</ul></details>'
    return f"<h2>{escape(say('plan.heading.reasons', lang))}</h2>{shown}"


def _group(rows: list[Row], lang: str) -> str:
    first = rows[0]
    stage = first.red_stage
    # what ended a run from outside is its own to tell, not the stage's
    verdict = show(stage.verdict if stage and stage.state != STOPPED else first.ended.verdict, lang)
    count = f"<b>{escape(say('plan.same_cause', lang, count=len(rows)))}</b> " if len(rows) > 1 else ""
    found = explanation(stage.error) if stage and stage.error else None
    told = "" if found is None else f'<br><span class="hint">→ {escape(show(found.fix, lang))}</span>'
    return f"<li>{badge('FAIL')} {count}{escape(verdict)}{told}<br>{_runs(rows, lang)}</li>"


def _runs(rows: list[Row], lang: str) -> str:
    """The first with all its links; of the others their pages."""
    shown = where_to_look(rows[0], lang)
    others = [run_link(row) for row in rows[1:]]
    if len(others) > RUNS:
        said = escape(say("plan.more_runs", lang, count=len(others)))
        return f"{shown}<details><summary>{said}</summary>{', '.join(others)}</details>"
    return f"{shown}<br>{', '.join(others)}" if others else shown
