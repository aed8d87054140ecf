"""Times, sizes, shares and days as a plan writes them: `30m`, `4GB`, `80%`, `2026-12-31`."""

from __future__ import annotations

import re
from datetime import date

from ascend_workbook.batch.plan.entry import Entry

SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
#: Decimal and binary units in MiB; a number without a unit is refused, as nobody knows what it would mean.
MIB = {"MB": 1e6 / 2**20, "MIB": 1, "GB": 1e9 / 2**20, "GIB": 1024, "TB": 1e12 / 2**20, "TIB": 2**20}
AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([A-Za-z]*)", re.ASCII)
LONGEST_S, LARGEST_MIB = 30 * 86400, 2**30


def read_seconds(entry: Entry) -> int:
    """Read a time such as `30m`, `2h`, `90s` or a number of seconds; at least one, at most 30 days."""
    amount, unit = _read_amount(entry)
    if unit not in SECONDS or not 1 <= amount * SECONDS[unit] <= LONGEST_S:
        raise entry.wrong_kind_error("time")
    return round(amount * SECONDS[unit])


def read_mib(entry: Entry) -> int:
    """Read a size such as `4GB` or `512MiB` in MiB, at least one."""
    amount, unit = _read_amount(entry)
    if unit.upper() not in MIB or not 1 <= amount * MIB[unit.upper()] <= LARGEST_MIB:
        raise entry.wrong_kind_error("size")
    return round(amount * MIB[unit.upper()])


def read_share(entry: Entry) -> tuple[float, bool]:
    """Read a share: (0.01, False) of 0.01, (0.01, True) of `1%`. Never negative."""
    text = entry.value.strip() if isinstance(entry.value, str) else ""
    percent = text.endswith("%")
    if percent and AMOUNT.fullmatch(text[:-1].strip()) and text[:-1].strip()[-1].isdigit():
        return float(text[:-1]) / 100, True
    if isinstance(entry.value, bool) or not isinstance(entry.value, (int, float)) or entry.value < 0:
        raise entry.wrong_kind_error("share")
    return float(entry.value), False


def read_day(entry: Entry) -> str:
    """Read a day YYYY-MM-DD that the calendar has."""
    text = entry.read_text()
    try:
        return date.fromisoformat(text).isoformat() if len(text) == 10 else _no_day(entry)
    except ValueError as cause:
        raise entry.wrong_kind_error("day") from cause


def _no_day(entry: Entry) -> str:
    raise entry.wrong_kind_error("day")


def _read_amount(entry: Entry) -> tuple[float, str]:
    plain = not isinstance(entry.value, (bool, list, dict))
    match = AMOUNT.fullmatch(str(entry.value).strip()) if plain else None
    return (float(match[1]), match[2]) if match else (0.0, "?")
