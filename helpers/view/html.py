"""A report as HTML that opens offline: nothing is loaded from outside, charts are embedded pictures.

There is no script, but for a page with a table to browse (browse.py) or a timeline; both read well without it too.
"""

from __future__ import annotations

import base64
import io
import re
from html import escape

from helpers.finding import Finding, Status
from helpers.report import Listing, Report, Table
from helpers.view import browse, charts
from helpers.view.cells import SUMMARIES, cut, folded, grid, nearest, of_ranks, remarks, together
from helpers.view.timeline import page as timeline
from helpers.words import language, say, title

#: Rows of a table; of one in a part of a page, about the marked row; letters of a cell that is not broken.
ROWS, NEAR, SHORT = 200, 21, 16
#: An address within a sentence, without the sentence's own punctuation
ADDRESS = re.compile(r"(https://[\w./#?=&%~+:@-]*[\w/])", re.ASCII)
#: A table of more columns keeps the one that says what a row is about in sight.
WIDE, ABOUT = 8, ("operator", "layer")
#: Fonts that carry Chinese on Windows, macOS and Linux stand after the system's own.
FONTS = (
    "system-ui, -apple-system, 'Segoe UI', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', "
    "'Noto Sans SC', 'WenQuanYi Micro Hei', sans-serif"
)
STYLE = f"""
.aw {{ font-family: {FONTS}; line-height: 1.5; }}
.aw table {{ border-collapse: collapse; margin: .6em 0; font-size: .92em; }}
.aw table th, .aw table td {{ text-align: left !important; padding: .25em .7em; border-bottom: 1px solid #8884;
  vertical-align: top; overflow-wrap: break-word; }}
.aw table th {{ word-break: keep-all; }} .aw table td:not(.s):not(.k) {{ min-width: 9em;
  overflow-wrap: anywhere; }} .aw .wide table th, .aw .wide table td {{ padding: .25em .45em; }}
.aw .scroll {{ overflow-x: auto; }} .aw td.s {{ white-space: nowrap; }} .aw .wide tr {{ background: Canvas; }}
.aw .wide .k {{ position: sticky; left: 0; background-color: inherit; background-clip: padding-box;
  max-width: 22em; }}
.aw tr.mark td {{ background-image: linear-gradient(#cf222e22, #cf222e22); font-weight: 600; }}
.aw .badge {{ display: inline-block; padding: 0 .5em; border-radius: .3em; color: #fff; font-weight: 600; }}
.aw .OK {{ background: #1a7f37; }} .aw .NOTE {{ background: #0969da; }} .aw .SKIPPED {{ background: #6e7781; }}
.aw .WARN {{ background: #9a6700; }} .aw .FAIL {{ background: #cf222e; }}
.aw .verdict {{ font-size: 1.08em; margin: .4em 0; }}
.aw .simulated {{ border-left: 4px solid #9a6700; padding: .2em .8em; margin: .5em 0; background: #9a670018; }}
.aw pre {{ overflow-x: auto; padding: .7em; background: #8881; font-size: .85em; line-height: 1.35; }}
.aw pre .add {{ color: #1a7f37; }} .aw pre .del {{ color: #cf222e; }} .aw pre .at {{ color: #0969da; }}
.aw a {{ text-decoration: underline; }} .aw img {{ max-width: 100%; background: #fff; }} .aw .hint {{ opacity: .8; }}
.aw details.rank > summary {{ cursor: pointer; }} .aw .rank > summary > * {{ display: inline; margin-right: .5em; }}
"""
PAGE = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title><style>:root {{ color-scheme: light dark; }}
body {{ max-width: 76em; margin: 2em auto; padding: 0 1em; }}
{style}</style></head><body>{body}</body></html>
"""


def render(report: Report, lang: str | None = None) -> str:
    """A whole page: the report, its chart, and each part below."""
    lang = language(lang)
    body = section(report, lang, 1)
    return page(report.title(lang), f'<div class="aw">{body}</div>{scripts(body)}', lang)


def scripts(body: str) -> str:
    """What makes a page's body move; nothing where nothing in it can."""
    return browse.script(body) + timeline.script(body)


def page(name: str, body: str, lang: str) -> str:
    """The frame every page of ours shares."""
    return PAGE.format(lang={"zh": "zh-CN"}.get(lang, lang), name=escape(name), style=STYLE, body=body)


def fragment(report: Report, lang: str | None = None) -> str:
    """What a notebook shows: no picture (the figure has a cell of its own)."""
    return f'<div class="aw"><style>{STYLE}</style>{section(report, language(lang), 3, pictures=False)}</div>'


def section(report: Report, lang: str, level: int, *, pictures: bool = True, fold: bool = False) -> str:
    """One report and, a heading deeper, its parts. With `fold` heading and verdict open the rest."""
    heading = f"<h{level}>{escape(report.title(lang))}</h{level}>"
    verdict = f"{badge(report.status.name)} {escape(report.verdict(lang))}"
    if fold:
        opens = f'<summary>{heading}<span class="verdict">{verdict}</span></summary>'
        return f'<details class="rank">{opens}\n{_rest(report, lang, level, pictures)}</details>'
    return f'{heading}\n<p class="verdict">{verdict}</p>\n{_rest(report, lang, level, pictures)}'


def _rest(report: Report, lang: str, level: int, pictures: bool) -> str:
    """What stands below the verdict."""
    pieces = []
    if report.tier:
        pieces.append(f"<p>{escape(say('report.tier', lang, tier=report.tier))}</p>")
    if level in (1, 3):
        pieces += [f'<p class="simulated">{escape(remark)}</p>' for remark in report.circumstances(lang)]
    shown = [table(report, lang, page=pictures, limit=NEAR if level > (1 if pictures else 3) else 0)]
    shown.append(picture(report, lang) if pictures else "")
    pieces += reversed(shown) if report.chart and report.chart.kind in ("errors", "lanes") else shown
    pieces.append(_findings(report, lang))
    if report.listing:
        pieces.append(_listing(report.listing, lang))
    ranks = of_ranks(report)
    pieces += [section(part, lang, level + 1, pictures=pictures, fold=part in ranks) for part in report.parts]
    return "\n".join(filter(None, pieces))


def badge(status: str) -> str:
    return f'<span class="badge {escape(status)}">{escape(status)}</span>'


def table(report: Report, lang: str, *, page: bool = False, limit: int = 0) -> str:
    """The report's table; on a page with its details, where it has any, and then to be sorted and filtered. With a
    `limit`, as in a part of a page, that many rows about the one that the chart points out."""
    if report.table is None or not report.table.rows:
        return ""
    short = bool(limit and report.chart and report.chart.mark is not None)
    browsed = page and not short and any(column.detail for column in report.table.columns)
    limit = limit if short else browse.ROWS if browsed else ROWS
    whole = nearest(report, limit) or report.table
    content = whole if browsed else whole.split()[0]
    heads, rows = grid(content, lang, limit)
    names = [column.name for column in content.columns]
    head = "".join(f"<th{_about(name)}>{escape(text)}</th>" for text, name in zip(heads, names))
    marked = _marked(report, whole)
    body = "".join(_tr(row, names, number == marked) for number, row in enumerate(rows))
    left = len(report.table.rows) - len(rows)
    rest = f"<p>{escape(say('report.rows_left_out', lang, left_out=left))}</p>" if left > 0 else ""
    kind = ' class="browse"' if browsed else ""
    made = f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll{" wide" if len(heads) > WIDE else ""}">{made}</div>{rest}'


def picture(report: Report, lang: str) -> str:
    """The chart embedded, an error curve as SVG, others as PNG on opaque white, with an alternative text."""
    figure = report.figure(lang)
    if figure is None:
        return ""
    stream = io.BytesIO()
    if report.chart and report.chart.kind == "errors":  # many fine points: sharp at any size
        kind, alternative = "svg+xml", f"{report.title(lang)}: {charts.facts(report)}"
        charts.save_svg(figure, stream)
    else:
        kind, alternative = "png", report.title(lang)
        charts.save_png(figure, stream)
    data = base64.b64encode(stream.getvalue()).decode()
    shown = f'<p><img alt="{escape(alternative)}" src="data:image/{kind};base64,{data}"></p>'
    return timeline.view(report, lang, shown) if "timeline" in report.facts else shown


def _marked(report: Report, shown: Table) -> int | None:
    """The number of the row that the chart points out."""
    chart = report.chart
    values = shown.values(chart.x) if chart and chart.kind == "errors" else []
    return values.index(chart.mark) if chart and chart.mark is not None and chart.mark in values else None


def _tr(row: list[str], names: list[str], marked: bool) -> str:
    begin = '<tr class="mark">' if marked else "<tr>"
    return begin + "".join(_td(text, name) for text, name in zip(row, names)) + "</tr>"


def _td(text: str, name: str) -> str:
    """A short cell, such as a number or a shape, stays in one line."""
    kind = _about(name) or (" class=s" if len(text) <= SHORT else "")
    shown = cut(text, name)
    whole = f' title="{escape(text)}"' if shown != text else ""
    return f"<td{kind}{whole}>{_cell(shown, name)}</td>"


def _about(name: str) -> str:
    return " class=k" if name in ABOUT else ""


def _cell(text: str, name: str) -> str:
    if text.startswith("https://"):  # to be followed by the reader; the page itself loads nothing
        return browse.link(text)
    return badge(text) if name == "status" and text in Status.__members__ else escape(text).replace("\n", "<br>")


def _linked(text: str) -> str:
    """A sentence whose addresses can be followed."""
    pieces = ADDRESS.split(text)
    return "".join(browse.link(piece) if at % 2 else escape(piece) for at, piece in enumerate(pieces))


def _findings(report: Report, lang: str) -> str:
    groups = folded(remarks(report), lang)
    return "<ul>" + "".join(_group(group, report, lang) for group in groups) + "</ul>" if groups else ""


def _group(group: list[Finding], report: Report, lang: str) -> str:
    """A finding, or several that were not looked at for the same reason behind the one sentence for all."""
    first = group[0]
    if len(group) > 1:
        each = "".join(_finding(found, lang) for found in group)
        said = f"{badge(first.status.name)} {escape(together(group, lang))}"
        return f"<li><details><summary>{said}</summary><ul>{each}</ul></details></li>"
    if first is report.headline and first.rule in SUMMARIES:
        return f'<li><span class="hint">→ {_linked(first.hint(lang))}</span></li>'
    return _finding(first, lang)


def _finding(finding: Finding, lang: str) -> str:
    where = f"<code>{escape(str(finding.place))}</code> " if finding.place else ""
    hint = finding.hint(lang)
    after = f'<br><span class="hint">→ {_linked(hint)}</span>' if hint else ""
    return f"<li>{badge(finding.status.name)} {escape(finding.rule)} {where}{escape(finding.message(lang))}{after}</li>"


def _listing(listing: Listing, lang: str) -> str:
    lines = [_diff_line(line) if listing.language == "diff" else escape(line) for line in listing.text.splitlines()]
    return (
        f"<details open><summary>{escape(title(listing.name, lang))}</summary><pre>"
        + "\n".join(lines)
        + "</pre></details>"
    )


def _diff_line(line: str) -> str:
    kind = {"+": "add", "-": "del", "@": "at"}.get(line[:1])
    return f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line)
