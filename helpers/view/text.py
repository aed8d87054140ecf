"""A report as plain text for terminals, logs and notebooks without HTML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from helpers.finding import Finding
from helpers.report import Report, Table
from helpers.view.cells import SUMMARIES, cut, folded, grid, nearest, of_ranks, remarks, together
from helpers.words import language, say

ROWS = 40
#: More rows than this that agree are counted instead of shown.
FOLDED = 12
#: What a line is not broken within: a word with what follows it, or one Chinese character with its full stop or comma.
WORD = re.compile(r"[!-~]+ *|[^!-~][，。；：、）”]*|\s")


def render(
    report: Report, lang: str | None = None, *, details: bool = False, above: Sequence[str] = (), fold: bool = False
) -> str:
    """Verdict first, then table, findings and parts. With `details` all rows, each with its details under it.

    `above`: remarks on device and circumstances that stand over this part and hold for it too. `fold`: without parts.
    """
    lang = language(lang)
    told = [say("report.tier", lang, tier=report.tier)] if report.tier else []
    told += report.circumstances(lang)
    verdict = say("report.line", lang, name=report.title(lang), text=report.verdict(lang))
    lines = [f"{report.status.name}  {verdict}"]
    lines += [] if told == list(above) else told
    if report.table:
        lines += ["", *_table(report, lang, details)]
    shown = remarks(report)
    if shown:
        groups = [[found] for found in shown] if details else folded(shown, lang)
        lines += ["", *(line for group in groups for line in _group(group, report, lang))]
    if report.listing:
        lines += ["", report.listing.text.rstrip("\n")]
    if fold:
        return "\n".join([*lines, say("report.rank_folded", lang, rank=report.facts["rank"])])
    ranks = [] if details else of_ranks(report)
    for part in report.parts:
        lines += ["", render(part, lang, details=details, above=told, fold=part in ranks)]
    return "\n".join(lines)


def _group(group: list[Finding], report: Report, lang: str) -> list[str]:
    """A finding's lines, or the one of several that were not looked at for the same reason."""
    first = group[0]
    if len(group) == 1:
        summed = first is report.headline and first.rule in SUMMARIES
        return _finding(first, lang)[1:] if summed else _finding(first, lang)
    said = say("report.folded", lang, what=together(group, lang))
    return [f"{first.status.name:<7} {first.rule}..{group[-1].rule} {said}"]


def _finding(finding: Finding, lang: str) -> list[str]:
    where = f"{finding.place}: " if finding.place else ""
    line = f"{finding.status.name:<7} {finding.rule} {where}{finding.message(lang)}"
    hint = finding.hint(lang)
    return [line, f"        {hint}"] if hint else [line]


def _table(report: Report, lang: str, details: bool = False) -> list[str]:
    assert report.table
    limit = len(report.table.rows) if details else ROWS
    agreeing = [] if details else _agreeing(report.table)
    whole = nearest(replace(report, table=_without(report.table, agreeing)) if agreeing else report, limit)
    assert whole
    table, more = whole.split()
    heads, rows = grid(table, lang, limit)
    if not details:
        rows = [[cut(text, column.name) for text, column in zip(row, table.columns)] for row in rows]
    under = _details(more, lang) if details and more.columns else [[] for _ in rows]
    wraps = [column.wrap for column in table.columns]
    cells = [[_wrapped(text, wrap) for text, wrap in zip(row, wraps)] for row in rows]
    columns = zip(([head] for head in heads), *cells)
    widths = [max(_width(line) for cell in column for line in cell) for column in columns]
    lines = [_line(heads, widths), "  ".join("-" * width for width in widths)] if rows else []
    for row, detail in zip(cells, under):
        lines += [*(_line(list(part), widths) for part in zip_longest(*row, fillvalue="")), *detail]
    left_out = len(report.table.rows) - len(agreeing) - len(rows)
    if left_out:
        lines.append(say("report.rows_left_out", lang, left_out=left_out))
    return [*lines, say("report.rows_agree", lang, count=len(agreeing))] if agreeing else lines


def _agreeing(table: Table) -> list[int]:
    """Numbers of the rows whose judgement is that they agree; none where they are few."""
    if "judgement" not in [column.name for column in table.columns]:
        return []
    said = (value.get("say", "") if isinstance(value, dict) else "" for value in table.values("judgement"))
    found = [number for number, key in enumerate(said) if str(key).endswith(".agrees")]
    return found if len(found) > FOLDED else []


def _without(table: Table, left_out: list[int]) -> Table:
    gone = set(left_out)
    return Table(table.columns, tuple(row for number, row in enumerate(table.rows) if number not in gone))


def _details(more: Table, lang: str) -> list[list[str]]:
    """What stands under each row: the details in one line, links in lines of their own."""
    heads, rows = grid(more, lang, len(more.rows))
    under = []
    for row in rows:
        plain = [say("report.line", lang, name=head, text=text) for head, text in zip(heads, row)
                 if not text.startswith("https://")]  # fmt: skip
        under.append([f"    {' | '.join(plain)}", *(f"    {text}" for text in row if text.startswith("https://"))])
    return under


def _line(cells: list[str], widths: list[int]) -> str:
    return "  ".join(text + " " * (width - _width(text)) for text, width in zip(cells, widths)).rstrip()


def _wrapped(text: str, columns: int) -> list[str]:
    """The text in lines of so many columns, broken at spaces and between Chinese characters; a longer word anywhere."""
    if not columns or _width(text) <= columns:
        return [text]
    lines = [""]
    words = (word[at : at + columns] for word in WORD.findall(text) for at in range(0, len(word), columns))
    for word in words:
        if lines[-1] and _width(lines[-1] + word.rstrip()) > columns:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def _width(text: str) -> int:
    """Columns on a terminal: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
