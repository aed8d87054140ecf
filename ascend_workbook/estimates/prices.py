"""Prices of cards, of what stands beside them and of work, from a small file that the user edits.

Nothing here is a price list: the file that is shipped is one company's example (prices.json), and bills decide.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.estimates.chips import Chip
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.findings.errors import WorkbookError, explain_os_error

SHIPPED = Path(__file__).with_name("prices.json")
#: A month's hours: 365 days over 12
MONTH_H = 730.0
UNITS = {"hour": 1.0, "day": 24.0, "month": MONTH_H, "year": 12 * MONTH_H}
PERSON_DAY = "person-day"
DAY_H = 8.0
FIELDS = ("resource", "spec", "count", "unit", "price", "currency", "note", "cards", "chip")
REQUIRED = ("resource", "unit", "price", "currency")


@dataclass(frozen=True)
class Price:
    """One row: `price` is that of all `count` pieces for one `unit`; None where it is not known. `cards` are those of
    the whole row, `chip` their name where the price is that chip's alone."""

    resource: str
    unit: str
    price: float | None
    currency: str
    spec: str = ""
    count: float = 1.0
    note: str = ""
    cards: int = 0
    chip: str = ""

    @property
    def of_card_hour(self) -> float | None:
        """Return the price of one card for an hour; None where the row has no cards or no price."""
        if not self.cards or self.price is None or self.unit not in UNITS:
            return None
        return self.price / self.cards / UNITS[self.unit]


@dataclass(frozen=True)
class Cost(Range):
    """Money as a range, in one currency, and where its price stands."""

    currency: str
    source: str


@dataclass(frozen=True)
class Prices:
    """The rows of a file. `shipped` says that it is the example, which no user has looked at."""

    rows: tuple[Price, ...]
    path: str
    shipped: bool = False

    def card_row(self, chip: Chip) -> Price | None:
        """Return the row that prices cards of the chip: one of its name first, else one of none. None without any."""
        priced = [row for row in self.rows if row.of_card_hour is not None]
        named = [row for row in priced if row.chip and row.chip.lower() == chip.name.lower()]
        return next(iter([*named, *(row for row in priced if not row.chip)]), None)

    def cost(self, card_hours: Range, chip: Chip) -> Cost | None:
        """Return what so many card-hours cost; None where no row prices the chip's cards."""
        row = self.card_row(chip)
        price = row.of_card_hour if row else None
        if row is None or price is None:
            return None
        low, middle, high = (price * hours for hours in (card_hours.low, card_hours.middle, card_hours.high))
        return Cost(low, middle, high, row.currency, f"{self.path}: {row.resource}")

    def cost_of_work(self, hours: Range) -> Cost | None:
        """Return what so many hours of work cost, at the dearest and the cheapest person-day; None without a price."""
        rows = [row for row in self.rows if row.unit == PERSON_DAY and row.price is not None]
        currencies = {row.currency for row in rows}
        if len(currencies) != 1:
            return None
        each = sorted((row.price or 0.0) / row.count for row in rows)
        middle = sum(each) / len(each)
        low, high = each[0] * hours.low / DAY_H, each[-1] * hours.high / DAY_H
        return Cost(low, min(max(middle * hours.middle / DAY_H, low), high), high, currencies.pop(), self.path)

    def monthly(self) -> Mapping[str, float]:
        """Return what everything but cards and work costs in a month, by currency."""
        sums: dict[str, float] = {}
        for row in self.rows:
            if row.unit in UNITS and not row.cards and row.price is not None:
                sums[row.currency] = sums.get(row.currency, 0.0) + row.price / UNITS[row.unit] * MONTH_H
        return sums


def load_prices(path: str | os.PathLike[str] | None = None) -> Prices:
    """Return the prices of a file, the shipped example without a path. Raises WorkbookError for what is none, naming
    the row and what was expected."""
    file = Path(path) if path is not None else SHIPPED
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise WorkbookError("prices.unreadable", path=str(file), error=explain_os_error(error)) from error
    except (ValueError, RecursionError) as error:
        raise WorkbookError("prices.no_json", path=str(file), error=str(error)) from error
    rows = content.get("rows") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not rows:
        raise WorkbookError("prices.no_rows", path=str(file))
    return Prices(
        tuple(_read_row(row, f"{file}: rows[{number}]") for number, row in enumerate(rows)), str(file), path is None
    )


def write_template(path: str | os.PathLike[str]) -> Path:
    """Write the shipped example there, to be edited. Raises WorkbookError where a file is there already."""
    file = Path(path)
    try:
        with file.open("x", encoding="utf-8") as handle:
            handle.write(SHIPPED.read_text(encoding="utf-8"))
    except OSError as error:
        raise WorkbookError("prices.not_written", path=str(file), error=explain_os_error(error)) from error
    return file


def _read_row(row: object, place: str) -> Price:
    if not isinstance(row, Mapping):
        raise WorkbookError("prices.bad_row", place=place, value=str(row)[:40])
    unknown = [str(name) for name in row if name not in FIELDS]
    missing = [name for name in REQUIRED if name not in row]
    if unknown or missing:
        raise WorkbookError("prices.fields", place=place, unknown=unknown or None, missing=missing or None)
    units = [*UNITS, PERSON_DAY]
    if row["unit"] not in units:
        raise WorkbookError("prices.unit", place=f"{place}.unit", value=str(row["unit"])[:40], units=list(units))
    return Price(
        resource=_read_text(row, "resource", place),
        unit=str(row["unit"]),
        price=None if row["price"] is None else _read_number(row, "price", place, 0.0),
        currency=_read_text(row, "currency", place),
        spec=str(row.get("spec", "")),
        count=_read_number(row, "count", place, 1.0, least=1e-9),
        note=str(row.get("note", "")),
        cards=round(_read_number(row, "cards", place, 0.0)),
        chip=str(row.get("chip", "")),
    )


def _read_text(row: Mapping[str, Any], name: str, place: str) -> str:
    value = row[name]
    if not isinstance(value, str) or not value.strip():
        raise WorkbookError("prices.text", place=f"{place}.{name}", value=str(value)[:40])
    return value.strip()


def _read_number(row: Mapping[str, Any], name: str, place: str, default: float, least: float = 0.0) -> float:
    value = row.get(name, default)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < least:
        raise WorkbookError("prices.number", place=f"{place}.{name}", value=str(value)[:40])
    return float(value)
