"""The run's index page: a row per stage with links, then each stage's report. Static, opens offline."""

from __future__ import annotations

from html import escape
from pathlib import Path

from helpers.batch.execute import Outcome, saved_report
from helpers.diagnosis import explanation
from helpers.errors import WorkbookError
from helpers.report import Report
from helpers.view import html
from helpers.words import hint, say, show, title

#: The files of a stage folder that the page links to, with their words.
LINKS = (("report.html", "run.link.report"), ("notebook.ipynb", "run.link.notebook"), ("report.json", "run.link.json"))


def render(result: Report, folder: Path, outcomes: list[Outcome], lang: str, acceptance: str = "") -> str:
    """The whole page; `acceptance` is the checklist as HTML."""
    name = say("run.said", lang, name=title("run", lang), said=result.facts["name"])
    pieces = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="verdict">{html.badge(result.status.name)} {escape(result.verdict(lang))}</p>',
        f"<p>{escape(say('report.tier', lang, tier=result.tier))}</p>" if result.tier else "",
        *(f'<p class="simulated">{escape(remark)}</p>' for remark in result.circumstances(lang)),
        _rows(result, folder, outcomes, lang),
        acceptance,
        *(_stage(outcome, folder, lang) for outcome in outcomes),
    ]
    body = "\n".join(filter(None, pieces))
    return html.page(name, f'<div class="aw">{body}</div>{html.scripts(body)}', lang)


def _rows(result: Report, folder: Path, outcomes: list[Outcome], lang: str) -> str:
    assert result.table
    heads = "".join(f"<th>{escape(title(column.name, lang))}</th>" for column in result.table.columns)
    by_title = {f"name.{outcome.stage}": outcome.stage for outcome in outcomes}
    rows = []
    for stage, result_word, status, verdict, tier, seconds in result.table.rows:
        assert isinstance(stage, dict)
        folder_name = by_title.get(stage["say"], "")
        shown = "-" if seconds is None else f"{seconds} s"
        cells = (
            escape(show(stage, lang)),
            _coloured(show(result_word, lang), str(status)) if folder_name else escape(show(result_word, lang)),
            html.badge(str(status)),
            escape(show(verdict, lang)),
            escape(str(tier)),
            shown,
        )
        links = _links(folder, folder_name, lang) if folder_name else ""
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in (*cells, links)) + "</tr>")
    return f"<table><thead><tr>{heads}<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _coloured(word: str, status: str) -> str:
    """Green or red: red where the stage failed."""
    return f'<span class="badge {"FAIL" if status == "FAIL" else "OK"}">{escape(word)}</span>'


def _links(folder: Path, stage: str, lang: str) -> str:
    there = [(name, words) for name, words in LINKS if (folder / stage / name).is_file()]
    return " · ".join(f'<a href="{stage}/{name}">{escape(say(words, lang))}</a>' for name, words in there)


def _stage(outcome: Outcome, folder: Path, lang: str) -> str:
    """The stage's report, or the cell that failed and its error where there is none."""
    report = saved_report(folder / outcome.stage)
    failed = f"<pre>{escape(outcome.error)}</pre>{_explained(outcome.error, lang)}" if outcome.error else ""
    if report is not None:
        body = html.section(report, lang, 2)
        return body if outcome.state in ("good", "red") else body + failed
    return f"<h2>{escape(title(outcome.stage, lang))}</h2>{failed}"


def _explained(error: str, lang: str) -> str:
    """Cause, cure and source of a known failure; for another what to collect and where to ask.

    An error of ours names its own next step.
    """
    found = explanation(error)
    if found is None:
        ask = "" if error.startswith(WorkbookError.__name__) else hint("EXP002.unknown", lang)
        return f'<p class="hint">→ {escape(ask)}</p>' if ask else ""
    cause = say("run.cause", lang, confidence=found.confidence, cause=found.cause)
    source = say("run.source", lang, source=found.source)
    return f'<p>{escape(cause)}<br><span class="hint">→ {escape(show(found.fix, lang))}<br>{escape(source)}</span></p>'
