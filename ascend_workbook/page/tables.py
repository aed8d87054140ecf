"""A report's table as a page keeps it: by column, each repeated text once, numbers to the digits that can be seen."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from ascend_workbook.findings.finding import STATUS_OF_WORD
from ascend_workbook.findings.report import Column, Table
from ascend_workbook.findings.sentence import Scalar, title
from ascend_workbook.page.texts import Text, in_both, is_long, number_of, title_both
from ascend_workbook.show.cells import fit_units, format_cell

#: A file and a line, as a column of places has it.
PLACE = re.compile(r"[^\s:]+\.\w+:\d+")
#: Digits kept beyond those that are shown: what sorts and is drawn.
MORE = 2
#: A table of more rows keeps the digits that are shown, and none of its details' numbers: the JSON has them.
LARGE = 20_000


def pack_table(table: Table, statuses: tuple[str, ...] = ()) -> dict[str, Any]:
    """Pack the table by column; a long text that a column repeats is a numbered note under the table.

    A column `status` holds statuses, and so do those of `statuses`. One that counts from 0 has its count alone."""
    table = fit_units(table)
    notes: list[Text] = []
    kinds = {"status", *statuses}
    large = len(table.rows) > LARGE
    columns, left_out = [], []
    for column in table.columns:
        packed = _pack_column(
            column, table.column_values(column.name), notes, 0 if large else MORE, column.name in kinds
        )
        if large and column.detail and packed["kind"] == "number":
            left_out.append(packed["title"])
        else:
            columns.append(packed)
    return {"count": len(table.rows), "columns": columns, "notes": notes, "left_out": left_out}


def _pack_column(column: Column, values: list[Scalar], notes: list[Text], more: int, is_status: bool) -> dict[str, Any]:
    packed: dict[str, Any] = {"name": column.name, "title": title_both(column.name)}
    packed |= {name: True for name in ("detail",) if column.detail}
    if is_status:
        return {**packed, "kind": "status", "values": [read_status(value) for value in values]}
    if all(value is None or _is_number(value) for value in values):
        shown = [_round_number(value, column.digits + more) for value in values]
        if len(values) > 2 and values == list(range(len(values))):
            return {**packed, "kind": "number", "digits": column.digits, "count": len(values)}
        return {**packed, "kind": "number", "unit": column.unit, "digits": column.digits, "values": shown}
    words, order = _number_texts(values, column)
    kind = "place" if any(isinstance(text, str) and PLACE.fullmatch(text) for text in words) else "text"
    shown_words: list[Any] = [*words]
    if column.unit:  # ranges, such as `44 – 100`
        packed["title"] = in_both(lambda lang: f"{title(column.name, lang)} ({column.unit})")
    counts = Counter(order)
    for number, text in enumerate(words):
        if is_long(text) and counts[number] > 1:
            notes.append(text)
            shown_words[number] = {"note": len(notes)}
    return {**packed, "kind": kind, "words": shown_words, "values": order}


def _number_texts(values: list[Scalar], column: Column) -> tuple[list[Text], list[int]]:
    """Return the texts of a column, each once, and the number of each cell's."""
    words: list[Text] = []
    number_by_text: dict[str, int] = {}
    number_by_value: dict[str, int] = {}
    order = []
    for value in values:
        form = value if isinstance(value, str) else f"\0{json.dumps(value)}"
        number = number_by_value.get(form)
        if number is None:
            text = _format_both(value, column)
            number = number_by_text.setdefault(json.dumps(text), len(words))
            if number == len(words):
                words.append(text)
            number_by_value[form] = number
        order.append(number)
    return words, order


def _format_both(value: Scalar, column: Column) -> Text:
    return value if isinstance(value, str) else in_both(lambda lang: format_cell(value, column, lang))


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
