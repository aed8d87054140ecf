"""Cells of tables: sizes in the unit that suits them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.findings.report import Column, Table
from ascend_workbook.show.cells import UNITS_OF_BYTES, fit_units, format_rows

COLUMNS = (Column("memory_kind"), Column("at_peak", "GiB"), Column("count"))


def test_small_sizes_are_told_in_a_smaller_unit() -> None:
    rows = (("a", 0.003, 1), ("b", 0, 0.001), ("c", None, True))
    assert format_rows(Table(COLUMNS, rows), "en", 9)[1] == [
        ["a", "3.072 MiB", "1"],
        ["b", "0 MiB", "0.001"],
        ["c", "-", "yes"],
    ]
    large = Table(COLUMNS, (*rows, ("d", 0.5, 1)))
    assert fit_units(large) is large  # one unit for a column, that of its largest


@given(st.lists(st.one_of(st.integers(-4, 4), st.floats(), st.none()), min_size=1, max_size=6))
def test_no_size_is_changed(values: list[float | int | None]) -> None:
    fitted = fit_units(Table((COLUMNS[1],), tuple((value,) for value in values)))
    factor = 1024 ** UNITS_OF_BYTES.index(fitted.columns[0].unit)
    for value, (seen,) in zip(values, fitted.rows):
        assert seen is None if value is None else repr(seen / factor) == repr(float(value)) or seen == value * factor
