"""A report as a notebook's cell shows it: a card with the verdict and the next step, and a table of few rows.

What a test compares and no reader sees stands beside it, as MIME: nbval compares every MIME type of an output, and
JupyterLab draws none that it does not know.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report, Table
from ascend_workbook.findings.sentence import choose_language, say
from ascend_workbook.show import charts, template, themed
from ascend_workbook.show.cells import (
    collect_remarks,
    cut_cell,
    fold_findings,
    format_rows,
    join_unlooked,
    rows_near_mark,
)
from ascend_workbook.show.text import escape_controls

if TYPE_CHECKING:  # a kernel that lacks it has still to be told that it is the wrong one
    from markupsafe import Markup

MIME = "application/vnd.ascend-workbook+json"
#: Rows of a table, and remarks under it: all of them are in the report.
ROWS, REMARKS = 10, 5
#: The sign beside a status's word, so that colour never stands alone.
SIGNS = {"Good": "✓", "Look": "!", "Fix": "✕", "Not looked": "–"}
#: Paths below it are told as its reader calls commands: from there.
PROJECT = f"{Path(__file__).resolve().parents[2]}{os.sep}"
#: Where the notebook will lie whose kernel runs elsewhere; else links begin at the kernel's folder.
BESIDE = "ASCEND_WORKBOOK_NOTEBOOK"


@dataclass(frozen=True)
class Shown:
    """What a cell shows: HTML, one line of text that is the same in each run, and facts that only tests read."""

    html: str
    line: str
    facts: dict[str, Any] = field(default_factory=dict)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": self.line, "text/html": self.html, MIME: self.facts}


def make_bundle(report: Report, lang: str | None = None) -> dict[str, Any]:
    """Return what a cell shows of a report, by MIME type."""
    return show_report(report, lang)._repr_mimebundle_()


def show_report(report: Report, lang: str | None = None, page: Path | None = None, *, short: bool = False) -> Shown:
    """Return the report as a cell shows it, with a link to its `page`; `short`: what must be seen first."""
    lang = choose_language(lang)
    line = (
        f"{report.status.word(lang)}: {say('report.line', lang, name=report.title(lang), text=_verdict(report, lang))}"
    )
    return Shown(render_fragment(report, lang, page, short=short), escape_controls(line), collect_facts(report))


def show_waiting(lang: str) -> Shown:
    """Return what stands where a verdict will come."""
    chip = describe_status(Status.NOT_LOOKED, lang)
    html = template.render_template("waiting.html", lang=lang, page_lang=themed.LANGUAGES.get(lang, lang), chip=chip)
    return Shown(str(html), say("card.waits", lang))


def show_chart(report: Report, lang: str | None = None) -> Shown:
    """Return the report's chart as a cell shows it; its points and their range are facts for tests."""
    lang = choose_language(lang)
    return Shown(str(themed.render_chart(report, lang)), report.title(lang), {"chart": charts.describe_chart(report)})


def collect_facts(report: Report) -> dict[str, Any]:
    """Collect what a test compares: nothing in it is a time."""
    counts = Counter(finding.status.json for finding in report.findings)
    return {
        "verb": report.verb,
        "status": report.status.json,
        "verdict": report.headline.key if report.headline else "",
        "ran_on": report.tier,
        "simulated": report.simulated,
        "findings": dict(sorted(counts.items())),
        "rows": len(report.table.rows) if report.table else 0,
    }


def render_fragment(report: Report, lang: str | None = None, page: Path | None = None, *, short: bool = False) -> str:
    """Render the card: status, verdict, next step, a link; unless it is `short` few rows of the table and remarks."""
    lang = choose_language(lang)
    remarks = [group for group in fold_findings(collect_remarks(report), lang) if group[0] is not report.headline]
    shown = [_describe_remark(group, lang) for group in remarks[:REMARKS]]
    parts = [] if report.table and "verdict" in [column.name for column in report.table.columns] else report.parts
    lines = report.listing.text.splitlines() if report.listing else []
    return str(
        template.render_template(
            "card.html",
            report=report,
            lang=lang,
            page_lang=themed.LANGUAGES.get(lang, lang),
            chip=describe_status(report.status, lang),
            verdict=_verdict(report, lang),
            next_step=_shorten(report.headline.hint(lang)) if report.headline else "",
            circumstances=report.circumstances(lang)[int(report.simulated) :],
            short=short,
            table="" if short else _render_rows(report, lang),
            remarks=shown,
            more=len(remarks) - len(shown),
            parts=[(describe_status(part.status, lang), part.title(lang), _verdict(part, lang)) for part in parts],
            listing=lines,
            link=link_to(page) if page else "",
        )
    )


def describe_status(status: Status, lang: str) -> dict[str, str]:
    """Describe a status by its word, its sign and the name of its style."""
    return {"word": status.word(lang), "sign": SIGNS[status.json], "kind": status.json.split()[0]}


def link_to(page: Path) -> str:
    """Return the address of a page for a notebook: relative, so that JupyterLab opens it too."""
    return Path(os.path.relpath(page, os.environ.get(BESIDE) or Path.cwd())).as_posix()


def _verdict(report: Report, lang: str) -> str:
    """Return the verdict in a sentence; that a device was simulated is told by a tag."""
    return _shorten(report.headline.message(lang)) if report.headline else say("report.not_looked", lang)


def _shorten(text: str) -> str:
    return text.replace(PROJECT, "")


def _describe_remark(group: list[Any], lang: str) -> dict[str, object]:
    first = group[0]
    alone = len(group) == 1
    return {
        "chip": describe_status(first.status, lang),
        "rule": first.rule if alone else f"{first.rule}..{group[-1].rule}",
        "place": str(first.place or "") if alone else "",
        "text": _shorten(first.message(lang)) if alone else join_unlooked(group, lang),
        "next_step": _shorten(first.hint(lang)) if alone else "",
    }


def _render_rows(report: Report, lang: str) -> Markup | str:
    """Render the rows about the one that the chart points out, else the worst, else the first ones; no details."""
    whole = rows_near_mark(report, ROWS)
    if report.table is None or whole is None or not whole.rows:
        return ""
    whole = choose_worst(whole, ROWS)
    content = whole.split_details()[0]
    heads, rows = format_rows(content, lang, ROWS)
    names = [column.name for column in content.columns]
    marked = report.chart.mark if report.chart else None
    places = whole.column_values(report.chart.x) if report.chart and marked is not None else []
    statuses = content.column_values("status") if "status" in names else []
    return template.render_template(
        "card_table.html",
        lang=lang,
        heads=heads,
        chips=[_describe_word(status, lang) for status in statuses],
        at=names.index("status") if statuses else -1,
        marked=places.index(marked) if marked in places else -1,
        rows=[[cut_cell(text, name) for text, name in zip(row, names)] for row in rows],
        left=len(report.table.rows) - len(rows),
    )


def choose_worst(table: Table, limit: int) -> Table:
    """Return the table with the rows of the worst statuses, in their order, where it has more than `limit`."""
    if len(table.rows) <= limit or "status" not in [column.name for column in table.columns]:
        return table
    statuses = [_rank_word(word) for word in table.column_values("status")]
    worst = sorted(range(len(statuses)), key=lambda row: -statuses[row])[:limit]
    return replace(table, rows=tuple(table.rows[row] for row in sorted(worst)))


def _rank_word(word: object) -> int:
    try:
        return int(Status.from_json(word))
    except KeyError:
        return -1


def _describe_word(word: object, lang: str) -> dict[str, str] | None:
    """Describe the status in a cell; None for another word."""
    try:
        return describe_status(Status.from_json(word), lang)
    except KeyError:
        return None
