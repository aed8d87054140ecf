"""The cells of a table are those that csv reads, as wide as its heading, and its numbers those that float reads."""

from __future__ import annotations

import csv
import random
from math import isnan
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers import tables as module
from ascend_workbook.profiling.readers.tables import _to_number, open_table, read_sheet, time_ns
from ascend_workbook.profiling.readers.values import to_nanoseconds

PLAIN = 'a,b,中文\n1,"x,y",\n2,"say ""so""", \t"z"\n'
ODD = {
    "lines of Windows": PLAIN.replace("\n", "\r\n"),
    "no last line end": PLAIN[:-1],
    "a line end in quotes": 'a,b\n1,"x\ny"\r\n2,"x\r\ny"\n3,\n',
    "a byte order mark": "\ufeff" + PLAIN,
    "a row with fewer cells": "a,b\n1\n2,3\n",
    "a row with more cells": "a,b\n1,2,3\n4,5\n",
    "as many cells in all": "a,b\n1,2,3\n4\n5,6\n",
    "an empty line": "a,b\n\n1,2\n\n",
    "one column": "a\n1\n\n2\n",
    "a quote that none closes": 'a,b\n1,2\n3,"x\n4,5\n',
    "line ends of old": "a,b\r1,2\r3,4\r",
    "a heading alone": "a,b\n",
    "nothing": "",
}


def found(path: Path) -> tuple[list[list[str]], dict[int, int]]:
    """All rows with the heading, and those that were not as wide as it, by their number, with their lines."""
    with open_table(path) as file:
        head, pieces = read_sheet(file)
        rows, ragged = [head] if head else [], {}
        for piece in pieces:
            rows += ([cell.strip() for cell in row] for row in piece.rows)
            ragged.update((piece.first + at, line) for at, line in piece.ragged.items())
            assert piece.first + len(piece) + 1 == len(rows)
    return rows, ragged


@pytest.mark.parametrize("rows_at_once", [1, 2**12])
@pytest.mark.parametrize("text", [PLAIN, *ODD.values()], ids=["plain", *ODD])
def test_as_csv_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, rows_at_once: int) -> None:
    monkeypatch.setattr(module, "ROWS", rows_at_once)
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    rows, ragged = found(path)
    wanted = [row for row in csv.reader(text.lstrip("\ufeff").splitlines(keepends=True)) if row]
    width = len(wanted[0]) if wanted else 0
    assert rows == [[cell.strip() for cell in (row + [""] * width)[:width]] for row in wanted]
    assert list(ragged) == [at - 1 for at, row in enumerate(wanted) if len(row) != width]


def test_a_ragged_row_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('a,b\n"x\ny",2\n\n3\n', encoding="utf-8")
    assert found(path) == ([["a", "b"], ["x\ny", "2"], ["3", ""]], {1: 5})


def test_any_cells_in_any_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS", 7)
    dice, path = random.Random(0), tmp_path / "table.csv"
    for _ in range(40):
        cells = ["", "N/A", "1.5", "x", '"', ",", "\n", "\r\n", "a,b", 'a"b', "中", "[1]; 2"]
        rows = [[dice.choice(cells) for _ in range(4)] for _ in range(30)]
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator=dice.choice(["\n", "\r\n"])).writerows([list("abcd"), *rows])
        assert found(path) == ([list("abcd"), *([cell.strip() for cell in row] for row in rows)], {})


def test_numbers_are_those_of_float_and_what_is_none_is_noted() -> None:
    bad: list[str] = []
    for text in ("0", "1091.69482421875", "007", "5.", ".5", "1e-3", "-2", "9999999999999999999"):
        assert _to_number(text, bad) == float(text)
    assert isnan(_to_number("", bad)) and bad == []
    for text in ("1.2.3", "x", "nan", "inf", "-Infinity", "1e999"):
        assert isnan(_to_number(text, bad))
    assert bad == ["1.2.3", "x", "nan", "inf", "-Infinity", "1e999"]


def test_a_time_is_exact_and_what_is_none_or_far_away_is_named(tmp_path: Path) -> None:
    for text in ("1736412474730135.222", "0", "12.5", "1.0005", "-3"):
        assert time_ns(text, "Start", tmp_path, 7) == to_nanoseconds(text)
    for text in ("x", "", "9" * 30, "1e300", "4611686018427387.904"):
        with pytest.raises(WorkbookError) as told:
            time_ns(text, "Start", tmp_path, 7)
        assert told.value.key == "profiling.bad_cell"
        assert told.value.arguments == {"path": str(tmp_path), "line": 7, "column": "Start", "value": text}
