"""The cells of a table are those that csv reads, and its numbers those that float reads."""

from __future__ import annotations

import csv
import random
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from ascend_workbook.profiling.readers import sheet as module
from ascend_workbook.profiling.readers.sheet import Cells, open_table, read_sheet
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
    "a quote inside of a cell": 'a,b\n1,x"y\n2,"z"w\n3,x"y,z"w\n',
    "a cell that goes on behind its quotes": 'a,b\n1,"z"w\n',
    "two quotes inside of a cell": 'a,b\n1,x""y\n',
    "a quote that none closes": 'a,b\n1,2\n3,"x\n4,5\n',
    "line ends of old": "a,b\r1,2\r3,4\r",
    "a lone carriage return": "a,b\n1,x\ry\n3,4\n",
    "a heading alone": "a,b\n",
    "nothing": "",
}


def expected(path: Path) -> list[list[str]]:
    with open_table(path) as file:
        return [row for row in csv.reader(file) if row]


def found(path: Path) -> tuple[list[list[str]], list[int]]:
    """All rows, and the indices of those with another number of cells than the heading."""
    with open_table(path) as file:
        head, pieces = read_sheet(file)
        rows, ragged = [head] if head else [], []
        for piece in pieces:
            columns = [piece.column_cells(at).to_texts() for at in range(len(head))]
            rows += [list(row) for row in zip(*([one.texts[at] for at in one.code.tolist()] for one in columns))]
            ragged += list(piece.ragged)
    return rows, ragged


@pytest.mark.parametrize("at_once", [8, 2**20])
@pytest.mark.parametrize("text", [PLAIN, *ODD.values()], ids=["plain", *ODD])
def test_as_csv_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, at_once: int) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    rows, ragged = found(path)
    wanted = expected(path)
    width = len(wanted[0]) if wanted else 0
    assert rows == [[cell.strip() for cell in (row + [""] * width)[:width]] for row in wanted]
    assert ragged == [at - 1 for at, row in enumerate(wanted) if len(row) != width]


def test_any_cells_in_any_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 64)
    dice, path = random.Random(0), tmp_path / "table.csv"
    for _ in range(40):
        cells = ["", "N/A", "1.5", "x", '"', ",", "\n", "\r\n", "a,b", 'a"b', "中", "[1]; 2"]
        rows = [[dice.choice(cells) for _ in range(4)] for _ in range(30)]
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator=dice.choice(["\n", "\r\n"])).writerows([list("abcd"), *rows])
        assert found(path) == ([list("abcd"), *([cell.strip() for cell in row] for row in rows)], [])


def cells(*texts: str) -> Cells:
    raw = [text.encode() for text in texts]
    ends = np.cumsum([len(one) + 1 for one in raw]) - 1
    text = np.frombuffer(b",".join([*raw, b""]), np.uint8)
    return Cells.from_bounds(text, np.append(0, ends + 1)[:-1], ends, np.arange(len(raw)) + 10)


NUMBERS = (
    "0",
    "0.0",
    "1091.69482421875",
    "007",
    "5.",
    ".5",
    "9007199254740993",
    "0.1234567890123456789",
    "1e-3",
    "-2",
    "0.00048828125",
    "9223372036854775807",
    "9999999999999999999",
    "123456789012345678901234",
    " 1.5\t",
    "18.2062116443042876",
    "2109.6",
)


def test_numbers_are_those_of_float() -> None:
    asked: list[str] = []
    numbers = cells(*NUMBERS, "", "N/A", "1.2.3", "x").to_numbers(lambda cell, row: asked.append(cell) or _float(cell))
    assert numbers[: len(NUMBERS)].tolist() == [float(text) for text in NUMBERS]
    assert all(map(isnan, numbers[len(NUMBERS) :].tolist()))
    assert "1.2.3" in asked and not {"", "N/A", "1091.69482421875", "1.5", "2109.6"} & set(asked)


def _float(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def test_times_are_exact_and_what_is_unusual_is_asked_for_with_its_row() -> None:
    texts = ("1736412474730135.222\t", "0", "12.5", "1.0005", "4611686018427387.904", "x")
    asked: dict[str, int] = {}

    def one(cell: str, row: int) -> int:
        asked[cell] = row
        return -1 if cell == "x" else to_nanoseconds(cell)

    times = cells(*texts).to_times_ns(one).tolist()
    assert times == [1736412474730135222, 0, 12500, to_nanoseconds("1.0005"), 2**62, -1]
    assert asked == {"1.0005": 13, "4611686018427387.904": 14, "x": 15}


def test_texts_that_are_sought() -> None:
    column = cells("PTA", "PTA+GE", "", " APP ", "N/A", "hcom_x")
    assert column.equals_any("PTA", "APP").tolist() == [True, False, False, True, False, False]
    assert column.starts_with(b"hcom").tolist() == [False] * 5 + [True]
    assert column.filled_mask().tolist() == [True, True, False, True, True, True]
    assert column.select_cells(column.starts_with(b"P")).to_texts().texts == ["PTA", "PTA+GE"]
