"""Numbers and tables as the reports show them."""

from __future__ import annotations

from ascend_workbook.findings.report import Column


def to_percent(share: float) -> float:
    """Return a share (0 to 1) in percent, to a tenth."""
    return round(100 * share, 1)


def round_ms(milliseconds: float) -> float:
    """Round milliseconds to the microsecond."""
    return round(milliseconds, 3)


def make_columns(**units: str) -> tuple[Column, ...]:
    """Make the columns of a table by their names, each with its unit."""
    return tuple(Column(name, unit) for name, unit in units.items())
