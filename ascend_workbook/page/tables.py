"""A report's table as a page keeps it: by column, each repeated text once, numbers to the digits that can be seen."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from ascend_workbook.findings.finding import STATUS_OF_WORD
from ascend_workbook.findings.report import Column, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.page.texts import Text, in_both, is_long, number_of, title_both
from ascend_workbook.show.cells import format_cell

#: A file and a line, as a column of places has it.
PLACE = re.compile(r"[^\s:]+\.\w+:\d+")
#: Digits kept beyond those that are shown: what sorts and is drawn.
MORE = 2


def pack_table(table: Table, statuses: tuple[str, ...] = ()) -> dict[str, Any]:
    """Pack the table by column; a long text that a column repeats is a numbered note under the table.

    A column `status` holds statuses, and so do those of `statuses`."""
    notes: list[Text] = []
    kinds = {"status", *statuses}
    columns = [
        _pack_column(column, table.column_values(column.name), notes, status=column.name in kinds)
        for column in table.columns
    ]
    return {"count": len(table.rows), "columns": columns, "notes": notes}


def _pack_column(column: Column, values: list[Scalar], notes: list[Text], *, status: bool) -> dict[str, Any]:
    packed: dict[str, Any] = {"name": column.name, "title": title_both(column.name)}
    packed |= {name: True for name in ("detail",) if column.detail}
    if status:
        return {**packed, "kind": "status", "values": [read_status(value) for value in values]}
    if all(value is None or _is_number(value) for value in values):
        digits = column.digits + MORE
        shown = [_round_number(value, digits) for value in values]
        return {**packed, "kind": "number", "unit": column.unit, "digits": column.digits, "values": shown}
    texts = [_format_both(value, column) for value in values]
    words = list({json.dumps(text): text for text in texts}.values())
    at = {json.dumps(text): number for number, text in enumerate(words)}
    order = [at[json.dumps(text)] for text in texts]
    kind = "place" if any(isinstance(text, str) and PLACE.fullmatch(text) for text in words) else "text"
    shown_words: list[Any] = list(words)
    for number, text in enumerate(words):
        if is_long(text) and order.count(number) > 1:
            notes.append(text)
            shown_words[number] = {"note": len(notes)}
    return {**packed, "kind": kind, "words": shown_words, "values": order}


def _format_both(value: Scalar, column: Column) -> Text:
    return in_both(lambda lang: format_cell(value, column, lang))


def _is_number(value: Scalar) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _round_number(value: Scalar, digits: int) -> float | int | str | None:
    """Round to so many significant digits; what JSON has no number for stays as its name."""
    if value is None or isinstance(value, int):
        return value
    assert isinstance(value, float)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)


def read_status(value: Scalar) -> int | None:
    """Return the number of a status as a cell has it; None for what is none."""
    return number_of(STATUS_OF_WORD[value]) if isinstance(value, str) and value in STATUS_OF_WORD else None
