"""One table cell as text; text and HTML show the same words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ascend_workbook.findings.finding import STATUS_OF_WORD, Finding, Remarks, Status
from ascend_workbook.findings.registry import REMARKS, find_entry
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, say, show, title


def format_cell(value: Scalar, column: Column, lang: str) -> str:
    """Format the value with its unit; None is shown as `-`, never as a zero."""
    if column.name == "status" and isinstance(value, str) and value in STATUS_OF_WORD:
        return STATUS_OF_WORD[value].word(lang)
    text = f"{value:.{column.digits}g}" if isinstance(value, float) else show(value, lang)
    if isinstance(value, bool):
        text = say("report.yes" if value else "report.no", lang)
    if column.name == "shape":  # a notation, the same in all languages
        text = text.replace("、", ", ")
    if column.unit and isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{text} {column.unit}"
    return text


#: More checks than this that did not look for one and the same reason are told as one
ALIKE = 2
#: Columns of which a long cell is cut
CUT = {"shape": 60}


def cut_cell(text: str, name: str) -> str:
    """Cut the text of a cell to what is shown in the column of this name."""
    most = CUT.get(name, 0)
    return f"{text[: most - 1]}…" if most and len(text) > most else text


def fold_findings(findings: Sequence[Finding], lang: str) -> list[list[Finding]]:
    """Return the findings in order, those together that were not looked at for the same reason and differ by topic."""
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        alike = finding.status is Status.NOT_LOOKED and "topic" in finding.args
        reason = say(finding.key, lang, **{**finding.args, "topic": ""}) if alike else number
        groups.setdefault(reason, []).append(finding)
    parts = ([group] if len(group) > ALIKE else [[finding] for finding in group] for group in groups.values())
    return [part for several in parts for part in several]


def join_unlooked(group: Sequence[Finding], lang: str) -> str:
    """Return one sentence for checks that were not looked at for the same reason."""
    count: Scalar = Sentence("report.checks", count=len(group))
    return say(group[0].key, lang, **{**group[0].args, "topic": count})


def find_rank_parts(report: Report) -> list[Report]:
    """Return the parts that report one rank among several; each is as long as one alone, so they are folded."""
    rank_parts = [part for part in report.parts if "rank" in part.facts and part.parts]
    return rank_parts if len(rank_parts) > 1 else []


def _remarks_on(finding: Finding) -> Remarks:
    """Return what the finding's stage entered under the letters of its rules' codes."""
    entry = find_entry(REMARKS, finding.rule[:3])
    return entry if isinstance(entry, Remarks) else Remarks()


def is_summary(finding: Finding, report: Report) -> bool:
    """Return whether the report's first line says the finding's sentence, so that only its next step is left."""
    return finding.rule in _remarks_on(finding).summaries and finding is report.headline


def collect_remarks(report: Report) -> list[Finding]:
    """Return the findings to list under the table: what was not looked at or is wrong, and answers, unless the table
    says it.

    A report with parts lists its own only: the parts tell theirs. Its headline stands above; the next step does not.
    """
    wrong = []
    for finding in report.findings:
        remarks = _remarks_on(finding)
        is_answer = bool({finding.rule, finding.key} & {*remarks.answers}) and finding is not report.headline
        is_listed = finding.status >= Status.NOT_LOOKED or is_answer or finding.rule in remarks.asks
        if is_listed and (not is_summary(finding, report) or finding.hint()):
            wrong.append(finding)
    if not report.parts:
        return wrong
    told_keys = set(_walk_sentences(report))
    told_keys |= {_key_of(finding) for part in report.parts for finding in part.findings}
    return [
        finding
        for finding in wrong
        if _key_of(finding) not in told_keys and (finding != report.headline or finding.hint())
    ]


def _key_of(finding: Finding) -> tuple[str, str]:
    return finding.key, repr(finding.args)


def _walk_sentences(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the sentences in the tables of a report and its parts."""
    if report.table:
        cells = (value for row in report.table.rows for value in row if isinstance(value, dict) and "say" in value)
        yield from ((value["say"], repr(value.get("args", {}))) for value in cells)
    for part in report.parts:
        yield from _walk_sentences(part)


def rows_near_mark(report: Report, limit: int) -> Table | None:
    """Return the table; where it is longer than `limit`, the rows about the one that its chart points out."""
    chart, table = report.chart, report.table
    if table is None or chart is None or chart.mark is None or len(table.rows) <= limit:
        return table
    values = table.column_values(chart.x)
    at = values.index(chart.mark) if chart.mark in values else 0
    begin = min(max(0, at - limit // 2), len(table.rows) - limit)
    return Table(table.columns, table.rows[begin : begin + limit])


#: Units of bytes; each is 1024 of the next.
UNITS_OF_BYTES = ("GiB", "MiB", "KiB")


def fit_units(table: Table) -> Table:
    """Return the table with sizes of a tenth of their unit at most in the next smaller one: 0.003 GiB are 3.072 MiB.

    A column keeps one unit, that of its largest size; JSON keeps what was measured.
    """
    columns, factors = [], []
    for column in table.columns:
        sizes = [abs(size) for size in map(_size_of, table.column_values(column.name)) if size is not None]
        largest, unit, factor = max(sizes, default=0.0), column.unit, 1
        while 0 < largest < 0.1 and unit in UNITS_OF_BYTES[:-1]:
            largest, factor, unit = largest * 1024, factor * 1024, UNITS_OF_BYTES[UNITS_OF_BYTES.index(unit) + 1]
        columns.append(replace(column, unit=unit))
        factors.append(factor)
    if not any(factor > 1 for factor in factors):
        return table
    rows = (tuple(_multiply(value, factor) for value, factor in zip(row, factors)) for row in table.rows)
    return Table(tuple(columns), tuple(rows))


def _size_of(value: Scalar) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _multiply(value: Scalar, factor: int) -> Scalar:
    size = _size_of(value)
    return value if factor == 1 or size is None else size * factor


def format_rows(table: Table, lang: str, limit: int) -> tuple[list[str], list[list[str]]]:
    """Format the headings and at most `limit` rows, all as text."""
    table = fit_units(table)
    heads = [title(column.name, lang) for column in table.columns]
    rows = [
        [format_cell(value, column, lang) for value, column in zip(row, table.columns)] for row in table.rows[:limit]
    ]
    return heads, rows
