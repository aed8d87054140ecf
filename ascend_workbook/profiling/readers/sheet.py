"""A table (CSV) in pieces of some rows, read by `csv`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers.loading import without_garbage_collection

#: Call stacks can be longer than the default of 128 KiB
LONGEST_CELL = 2**24
#: Rows that are looked at together
ROWS = 2**12


class Piece(NamedTuple):
    """Some rows of a table, each as wide as the heading: what is missing is empty, what is too much is cut. `first`:
    the number of the first of them, without the heading; `ragged`: those that were not as wide, and their lines in the
    file, by their place here."""

    rows: list[list[str]]
    first: int
    ragged: dict[int, int]

    def column(self, at: int) -> list[str]:
        """Return the cells of one column as they are written: start times end in a tab."""
        return [row[at] for row in self.rows]


@contextmanager
def open_table(path: Path) -> Iterator[TextIO]:
    """Open the file for a reader of `csv`, to be read through inside; what fails there is a WorkbookError."""
    csv.field_size_limit(LONGEST_CELL)
    try:
        with without_garbage_collection(), path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause


def read_sheet(file: TextIO) -> tuple[list[str], Iterator[Piece]]:
    """Read the heading and the pieces of a file of open_table; [] of an empty one. Empty lines are no rows."""
    reader = csv.reader(file)
    numbered_rows = ((row, reader.line_num) for row in reader if row)
    head, _ = next(numbered_rows, ([], 0))
    return [name.strip() for name in head], _read_pieces(numbered_rows, len(head))


def _read_pieces(numbered_rows: Iterator[tuple[list[str], int]], width: int) -> Iterator[Piece]:
    first = 0
    while batch := list(islice(numbered_rows, ROWS)):
        ragged = {at: line for at, (row, line) in enumerate(batch) if len(row) != width}
        rows = [row if len(row) == width else (row + [""] * width)[:width] for row, _ in batch]
        yield Piece(rows, first, ragged)
        first += len(rows)
