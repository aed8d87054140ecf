"""A report as plain text for terminals, logs and notebooks without HTML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, Table
from ascend_workbook.findings.sentence import Scalar, choose_language, say
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

ROWS = 40
#: So many rows of a curve, evenly spaced: the whole of it is drawn on the page.
CURVE_ROWS = 8
#: More rows than this that agree are counted instead of shown.
FOLDED = 12
#: What a line is not broken within: a word with what follows it, or one Chinese character with its full stop or comma.
WORD = re.compile(r"[!-~]+ *|[^!-~][，。；：、）”]*|\s")


#: What steers a terminal; the end of a line does not.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n|\Z)")


def escape_controls(text: str) -> str:
    """Write control characters as `\\x1b`: names of files and texts of others must not steer a terminal."""
    return CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def render_text(
    report: Report, lang: str | None = None, *, details: bool = False, above: Sequence[str] = (), fold: bool = False
) -> str:
    """Render a report: verdict first, then table, findings and parts. With `details` all rows, each with its details
    under it.

    `above`: remarks on device and circumstances that stand over this part and hold for it too. `fold`: without parts.
    """
    lang = choose_language(lang)
    circumstances = [say("report.tier", lang, tier=report.tier)] if report.tier else []
    circumstances += report.circumstances(lang)
    verdict = say("report.line", lang, name=report.title(lang), text=report.verdict(lang))
    tag = f"  {say('report.simulated_short', lang)}" if report.simulated and not above else ""
    lines = [f"{report.status.word(lang)}  {verdict}{tag}"]
    lines += [] if circumstances == list(above) else circumstances
    if report.table:
        lines += ["", *_render_table(report, lang, details)]
    shown = collect_remarks(report)
    if shown:
        groups = [[finding] for finding in shown] if details else fold_findings(shown, lang)
        lines += ["", *(line for group in groups for line in _render_group(group, report, lang))]
    if report.listing:
        lines += ["", report.listing.text.rstrip("\n")]
    if fold:
        return escape_controls("\n".join([*lines, say("report.rank_folded", lang, rank=report.facts["rank"])]))
    ranks = [] if details else find_rank_parts(report)
    for part in report.parts:
        lines += ["", render_text(part, lang, details=details, above=circumstances, fold=part in ranks)]
    return escape_controls("\n".join(lines))


def _render_group(group: list[Finding], report: Report, lang: str) -> list[str]:
    """Render the lines of a finding, or the one line of several that were not looked at for the same reason."""
    first, width = group[0], max(text_width(status.word(lang)) for status in Status)
    word = first.status.word(lang)
    word += " " * (width - text_width(word))
    if len(group) == 1:
        place = f"{first.place}: " if first.place else ""
        line = f"{word} {first.rule} {place}{first.message(lang)}"
        hint = first.hint(lang)
        return ([line, f"{' ' * width} {hint}"] if hint else [line])[1 if is_summary(first, report) else 0 :]
    sentence = say("report.folded", lang, what=join_unlooked(group, lang))
    return [f"{word} {first.rule}..{group[-1].rule} {sentence}"]


def _render_table(report: Report, lang: str, details: bool = False) -> list[str]:
    assert report.table
    limit = len(report.table.rows) if details else ROWS
    agreeing = set() if details else _find_agreeing(report.table)
    others = tuple(row for number, row in enumerate(report.table.rows) if number not in agreeing)
    if not details and report.chart and report.chart.kind == "lines" and report.chart.mark is None:
        others = _space_evenly(others, ROWS if len(others) <= FOLDED else CURVE_ROWS)
    whole = rows_near_mark(replace(report, table=replace(report.table, rows=others)), limit)
    assert whole
    table, more = whole.split_details()
    heads, rows = format_rows(table, lang, limit)
    if not details:
        rows = [[cut_cell(text, column.name) for text, column in zip(row, table.columns)] for row in rows]
    under = _render_details(more, lang) if details and more.columns else [[] for _ in rows]
    wraps = [column.wrap for column in table.columns]
    cells = [[_wrap_text(text, wrap) for text, wrap in zip(row, wraps)] for row in rows]
    columns = zip(([head] for head in heads), *cells)
    widths = [max(text_width(line) for cell in column for line in cell) for column in columns]
    lines = [_join_cells(heads, widths), "  ".join("-" * width for width in widths)] if rows else []
    for row, detail in zip(cells, under):
        lines += [*(_join_cells(list(part), widths) for part in zip_longest(*row, fillvalue="")), *detail]
    left_out = len(report.table.rows) - len(agreeing) - len(rows)
    if left_out:
        lines.append(say("report.rows_left_out", lang, left_out=left_out))
    return [*lines, say("report.rows_agree", lang, count=len(agreeing))] if agreeing else lines


def _space_evenly(rows: tuple[tuple[Scalar, ...], ...], count: int) -> tuple[tuple[Scalar, ...], ...]:
    """Return so many of the rows, evenly spaced, the first and the last with them."""
    if len(rows) <= count:
        return rows
    return tuple(rows[round(number * (len(rows) - 1) / (count - 1))] for number in range(count))


def _find_agreeing(table: Table) -> set[int]:
    """Return the numbers of the rows whose judgement is that they agree; none where they are few."""
    if "judgement" not in [column.name for column in table.columns]:
        return set()
    keys = (value.get("say", "") if isinstance(value, dict) else "" for value in table.column_values("judgement"))
    agreeing = {number for number, key in enumerate(keys) if str(key).endswith(".agrees")}
    return agreeing if len(agreeing) > FOLDED else set()


def _render_details(more: Table, lang: str) -> list[list[str]]:
    """Render what stands under each row: the details in one line, links in lines of their own."""
    heads, rows = format_rows(more, lang, len(more.rows))
    under = []
    for row in rows:
        plain = [
            say("report.line", lang, name=head, text=text)
            for head, text in zip(heads, row)
            if not text.startswith("https://")
        ]
        under.append([f"    {' | '.join(plain)}", *(f"    {text}" for text in row if text.startswith("https://"))])
    return under


def _join_cells(cells: list[str], widths: list[int]) -> str:
    return "  ".join(text + " " * (width - text_width(text)) for text, width in zip(cells, widths)).rstrip()


def _wrap_text(text: str, columns: int) -> list[str]:
    """Wrap the text to lines of so many columns, broken at spaces, between Chinese characters, within a longer word."""
    if not columns or text_width(text) <= columns:
        return [text]
    lines = [""]
    words = (word[at : at + columns] for word in WORD.findall(text) for at in range(0, len(word), columns))
    for word in words:
        if lines[-1] and text_width(lines[-1] + word.rstrip()) > columns:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def text_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
