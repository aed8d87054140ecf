"""A report as HTML that opens offline: nothing is loaded from outside, charts are embedded pictures.

There is no script, but for a page with a table to browse (browse.js) or a timeline; both read well without it too.
"""

from __future__ import annotations

import base64
import io

from markupsafe import Markup

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import choose_language
from ascend_workbook.show import charts, template
from ascend_workbook.show import timeline_page as timeline
from ascend_workbook.show.cells import (
    collect_remarks,
    cut_cell,
    find_rank_parts,
    fold_findings,
    format_rows,
    is_summary,
    join_unlooked,
    rows_near_mark,
)

#: Rows of a table; of one in a part of a page, about the marked row; letters of a cell that is not broken.
ROWS, NEAR, SHORT = 200, 21, 16
#: Rows of a table to browse: more make a page slow to open. The JSON has them all.
BROWSED = 5000
#: A table of more columns keeps the one that says what a row is about in sight.
WIDE, ABOUT = 8, ("operator", "layer")
#: What a line of a diff begins with.
DIFF = {"+": "add", "-": "del", "@": "at"}


def render_page(report: Report, lang: str | None = None) -> str:
    """Render a whole page: the report, its chart, and each part below."""
    lang = choose_language(lang)
    return template.render_page(report.title(lang), render_section(report, lang, 1), lang)


def render_section(report: Report, lang: str, level: int, *, fold: bool = False) -> Markup:
    """Render one report and, a heading deeper, its parts. With `fold` heading and verdict open the rest."""
    shown = [render_table(report, lang, page=True, limit=NEAR if level > 1 else 0)]
    shown.append(render_picture(report, lang))
    lines = report.listing.text.splitlines() if report.listing else []
    diff = report.listing is not None and report.listing.language == "diff"
    ranks = find_rank_parts(report)
    return template.render_template(
        "section.html",
        report=report,
        lang=lang,
        level=level,
        fold=fold,
        remarks=report.circumstances(lang) if level == 1 else [],
        shown=filter(None, reversed(shown) if charts.stands_above(report.chart) else shown),
        groups=fold_findings(collect_remarks(report), lang),
        is_summary=is_summary,
        together=join_unlooked,
        listing=[(DIFF.get(line[:1], "") if diff else "", line) for line in lines],
        parts=[render_section(part, lang, level + 1, fold=part in ranks) for part in report.parts],
    )


def render_table(report: Report, lang: str, *, page: bool = False, limit: int = 0) -> Markup:
    """Render the report's table; on a page with its details, where it has any, and then to be sorted and filtered. With
    a `limit`, as in a part of a page, that many rows about the one that the chart points out."""
    if report.table is None or not report.table.rows:
        return Markup()
    short = bool(limit and report.chart and report.chart.mark is not None)
    browsed = page and not short and any(column.detail for column in report.table.columns)
    limit = limit if short else BROWSED if browsed else ROWS
    whole = rows_near_mark(report, limit) or report.table
    content = whole if browsed else whole.split_details()[0]
    heads, rows = format_rows(content, lang, limit)
    names = [column.name for column in content.columns]
    # the row that the chart points out is marked
    chart = report.chart
    values = whole.column_values(chart.x) if chart and charts.find_drawing(chart) else []
    return template.render_template(
        "table.html",
        lang=lang,
        wide=len(heads) > WIDE,
        browsed=browsed,
        heads=[{"text": text, "about": name in ABOUT} for text, name in zip(heads, names)],
        rows=[[_describe_cell(text, name, lang) for text, name in zip(row, names)] for row in rows],
        marked=values.index(chart.mark) if chart and chart.mark is not None and chart.mark in values else None,
        left=len(report.table.rows) - len(rows),
    )


def render_picture(report: Report, lang: str) -> Markup:
    """Render the chart embedded, a stage's own as SVG, others as PNG on opaque white, with an alternative text."""
    figure = report.figure(lang)
    if figure is None:
        return Markup()
    stream = io.BytesIO()
    if charts.find_drawing(report.chart):  # many fine points: sharp at any size
        kind, alternative = "svg+xml", f"{report.title(lang)}: {charts.describe_chart(report)}"
        charts.save_svg(figure, stream)
    else:
        kind, alternative = "png", report.title(lang)
        charts.save_png(figure, stream)
    data = base64.b64encode(stream.getvalue()).decode()
    shown = template.render_template("picture.html", alternative=alternative, kind=kind, data=data)
    return timeline.render_view(report, lang, shown) if "timeline" in report.facts else shown


def _describe_cell(text: str, name: str, lang: str) -> dict[str, object]:
    """Describe a cell of the column: a short one, such as a number or a shape, stays in one line."""
    kind = "k" if name in ABOUT else "s" if len(text) <= SHORT else ""
    return {
        "text": text,
        "shown": cut_cell(text, name),
        "kind": kind,
        "badge": next((status for status in Status if status.word(lang) == text), None) if name == "status" else None,
    }
