"""One table cell as text; text and HTML show the same words."""

from __future__ import annotations

from helpers.report import Column, Table
from helpers.words import Scalar, show, title


def cell(value: Scalar, column: Column, lang: str) -> str:
    """The value with its unit; None is shown as `-`, never as a zero."""
    text = f"{value:.{column.digits}g}" if isinstance(value, float) else show(value, lang)
    if column.unit and isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{text} {column.unit}"
    return text


def grid(table: Table, lang: str, limit: int) -> tuple[list[str], list[list[str]]]:
    """The headings and at most `limit` rows, all as text."""
    heads = [title(column.name, lang) for column in table.columns]
    rows = [[cell(value, column, lang) for value, column in zip(row, table.columns)] for row in table.rows[:limit]]
    return heads, rows
