"""A table (CSV) in pieces, without a text for each of its cells: they are places in the file's bytes.

Nearly all tables are plain, so that commas, line ends and quotes tell the cells. From a piece on that is not (a row
with another number of cells, an empty line, a quote inside a cell that has none around it, a line end of old) `csv`
reads, and its rows are written plainly.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.loading import without_garbage_collection
from ascend_workbook.profiling.readers.values import LIMIT
from ascend_workbook.profiling.trace import Texts

#: Call stacks can be longer than the default of 128 KiB
LONGEST_CELL = 2**24


@contextmanager
def open_table(path: Path) -> Iterator[TextIO]:
    """Open the file for a reader of `csv`, to be read through inside; what fails there is a WorkbookError."""
    csv.field_size_limit(LONGEST_CELL)
    try:
        with without_garbage_collection(), path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause


Mask = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
#: What makes a number or a text of one cell that is not usual: (cell, its row)
Float = Callable[[str, int], float]
Time = Callable[[str, int], int]
#: What stands in a cell that has no value
ABSENT = ("", "N/A")
POINT, ZERO = (np.uint8(byte) for byte in b".0")
TEN, ONE, NOUGHT = (np.uint8(number) for number in (10, 1, 0))
#: Digits that int64 holds, but for the largest, which become negative; whole numbers and powers of ten that float64
#: holds, so that their quotient is rounded once
MOST_DIGITS, EXACT, MOST_BEHIND = 19, 2**53, 22


class Cells(NamedTuple):
    """Cells (n,) of one column, without the blanks around them; `rows` (n,) are their rows in the table."""

    text: npt.NDArray[np.uint8]
    begins: I64
    ends: I64
    rows: I64

    @classmethod
    def from_bounds(cls, text: npt.NDArray[np.uint8], begins: I64, ends: I64, rows: I64) -> Cells:
        """Make the cells, without the blanks and the tab that start times end in."""
        for _ in range(int((ends - begins).max(initial=0))):
            last, first = _is_blank(text, ends - 1), _is_blank(text, begins)
            filled = ends > begins
            if not (filled & (last | first)).any():
                break
            ends = ends - (filled & last)
            begins = begins + ((ends > begins) & first)
        return cls(text, begins, ends, rows)

    def filled_mask(self) -> Mask:
        """Return which cells are not empty: (n,)."""
        return self.ends > self.begins

    def select_cells(self, wanted: Mask) -> Cells:
        return Cells(self.text, self.begins[wanted], self.ends[wanted], self.rows[wanted])

    def equals_any(self, *texts: str) -> Mask:
        """Return which cells are one of these texts: (n,)."""
        mask = np.zeros(self.begins.size, np.bool_)
        for wanted in map(str.encode, texts):
            mask |= (self.ends - self.begins == len(wanted)) & self.starts_with(wanted)
        return mask

    def starts_with(self, wanted: bytes) -> Mask:
        """Return which cells begin with this: (n,)."""
        mask = self.ends - self.begins >= len(wanted)
        for place, byte in enumerate(wanted):
            mask &= self.text.take(self.begins + place, mode="clip") == byte
        return mask

    def to_texts(self) -> Texts:
        """Return the cells as texts, each text once."""
        raw = self.text.tobytes()
        cells = [raw[begin:end] for begin, end in zip(self.begins.tolist(), self.ends.tolist())]
        number = {cell: at for at, cell in enumerate(dict.fromkeys(cells))}
        code = np.fromiter(map(number.__getitem__, cells), np.int32, len(cells))
        return Texts([cell.decode().replace('""', '"').strip() for cell in number], code)

    def to_numbers(self, convert_unusual: Float) -> F64:
        """Return the cells as numbers (n,), as float() reads them, NaN where there are none; `convert_unusual` reads
        the unusual ones."""
        whole, behind, usual = self._split_decimals()
        usual &= (whole < EXACT) & (behind <= MOST_BEHIND)
        values = whole / 10.0 ** np.minimum(behind, MOST_BEHIND)
        absent = self.equals_any(*ABSENT)
        values[absent] = np.nan
        for at in np.flatnonzero(~usual & ~absent).tolist():
            values[at] = convert_unusual(self._text_at(at), int(self.rows[at]))
        return values

    def to_times_ns(self, convert_unusual: Time) -> I64:
        """Return the cells, in microseconds, as nanoseconds (n,); `convert_unusual` reads the unusual ones."""
        whole, behind, usual = self._split_decimals()
        usual &= (behind <= 3) & (whole < LIMIT // 10 ** (3 - np.minimum(behind, 3)))
        times: I64 = whole * 10 ** (3 - np.minimum(behind, 3))
        for at in np.flatnonzero(~usual).tolist():
            times[at] = convert_unusual(self._text_at(at), int(self.rows[at]))
        return times

    def _text_at(self, at: int) -> str:
        return self.text[self.begins[at] : self.ends[at]].tobytes().decode().replace('""', '"').strip()

    def _split_decimals(self) -> tuple[I64, I64, Mask]:
        """Split cells such as 1091.6948 (n,): all digits as a number, how many are behind the point, which are such."""
        size = np.minimum(self.ends - self.begins, MOST_DIGITS + 2).astype(np.uint8)
        whole = np.zeros(size.size, np.int64)
        digits, points, behind = (np.zeros(size.size, np.uint8) for _ in range(3))
        for place in range(int(size.max(initial=0))):
            byte = self.text.take(self.begins + place, mode="clip")
            inside = size > place
            digit = (byte - ZERO < 10) & inside
            whole *= np.where(digit, TEN, ONE)
            whole += np.where(digit, byte - ZERO, NOUGHT)
            digits += digit
            behind += digit & points
            points += (byte == POINT) & inside
        usual = (digits > 0) & (digits <= MOST_DIGITS) & (points < 2) & (digits + points == size) & (whole >= 0)
        return whole, behind.astype(np.int64), usual


def _is_blank(text: npt.NDArray[np.uint8], at: I64) -> Mask:
    byte = text.take(at, mode="clip")
    blank: Mask = (byte == 32) | ((byte >= 9) & (byte <= 13))
    return blank


#: Bytes that are looked at together, and rows that csv reads
AT_ONCE, ROWS = 2**20, 2**14
COMMA, LINE_END, RETURN, QUOTE = b',\n\r"'
BYTES = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Piece:
    """Some rows: where each cell (n, columns) ends in `text`, one byte before the next begins; the first one begins
    at `begin`. `first` is the row, without the heading, of the first; `ragged` are those that have another number of
    cells than the heading, with their lines in the file: they are filled up with empty cells, or cut."""

    text: BYTES
    begin: int
    ends: I64
    first: int
    ragged: dict[int, int]

    def __len__(self) -> int:
        return len(self.ends)

    def column_cells(self, at: int) -> Cells:
        """Return the cells of one column, without the quotes around them."""
        begins = self.ends[:, at - 1] + 1 if at else np.append(self.begin, self.ends[:, -1] + 1)[:-1]
        ends = self.ends[:, at].copy()
        if at + 1 == self.ends.shape[1]:
            ends -= (ends > begins) & (self.text[ends - 1] == RETURN)
        quoted = self.text[begins] == QUOTE
        rows = np.arange(self.first, self.first + len(self))
        return Cells.from_bounds(self.text, begins + quoted, ends - quoted, rows)


def read_sheet(file: TextIO) -> tuple[list[str], Iterator[Piece]]:
    """Read the heading and the pieces of a file that was opened and not read (csv_files.open_table); [] of an empty
    one.

    Raises UnicodeDecodeError and csv.Error.
    """
    pieces = _read_pieces(file)
    first = next(pieces, None)
    if first is None:
        return [], pieces
    heading = replace(first, ends=first.ends[:1])
    head = [heading.column_cells(at).to_texts().texts[0] for at in range(first.ends.shape[1])]
    rows = replace(first, begin=int(first.ends[0, -1]) + 1, ends=first.ends[1:], first=first.first + 1)
    return head, chain([rows], pieces)


def _read_pieces(file: TextIO) -> Iterator[Piece]:
    """Yield the pieces with the heading, whose row is -1."""
    row, width, read, lines = -1, 0, 0, 0
    for block in _read_blocks(file):
        piece = _parse_plain(block, width, row)
        if piece is None:
            file.seek(read)
            yield from _read_by_csv(file, width, row, lines)
            return
        yield piece
        read, lines = read + len(block), lines + _count_byte(block, LINE_END)
        row, width = row + len(piece), piece.ends.shape[1]


def _read_blocks(file: TextIO) -> Iterator[bytes]:
    """Yield the file's bytes, cut where a line ends outside of quotes, so far as quotes are in pairs."""
    while block := file.buffer.read(AT_ONCE):
        block += file.buffer.readline(LONGEST_CELL)
        odd = _count_byte(block, QUOTE) % 2
        while odd and len(block) < 2 * AT_ONCE and (line := file.buffer.readline(AT_ONCE)):
            block += line
            odd = (odd + _count_byte(line, QUOTE)) % 2
        yield block


def _count_byte(block: bytes, byte: int) -> int:
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == byte))


def _parse_plain(block: bytes, width: int, row: int) -> Piece | None:
    """Return the rows of a plain block; of the first one the heading tells the `width`. None where it is not plain."""
    mark = b"\xef\xbb\xbf" if row < 0 and block.startswith(b"\xef\xbb\xbf") else b""
    if len(block) >= LONGEST_CELL or b"\0" in block or not _is_text(block):
        return None
    text = np.frombuffer(block if block.endswith(b"\n") else block + b"\n", np.uint8)
    if b"\r" in block and not (text[np.flatnonzero(text == RETURN) + 1] == LINE_END).all():
        return None
    marks = np.flatnonzero((text == COMMA) | (text == LINE_END) | (text == QUOTE))
    kind = text[marks]
    quote = kind == QUOTE
    if quote.any():
        if not _quotes_are_paired(text, marks[quote]):
            return None
        outside = ~quote & (np.cumsum(quote, dtype=np.uint8) % 2 == 0)
        marks, kind = marks[outside], kind[outside]
    line_end = kind == LINE_END
    width = width or int(line_end.argmax()) + 1
    if width < 2 or line_end.sum() * width != marks.size or not line_end[width - 1 :: width].all():
        return None
    return Piece(text, len(mark), marks.reshape(-1, width), row, {})


def _is_text(block: bytes) -> bool:
    if not block.isascii():
        try:
            block.decode("utf-8")
        except UnicodeDecodeError:
            return False
    return True


def _quotes_are_paired(text: BYTES, quotes: I64) -> bool:
    """Return whether each quote opens or closes a cell, or stands there twice for itself."""
    if quotes.size % 2:
        return False
    before = text[np.maximum(quotes[0::2] - 1, 0)]
    behind = text[quotes[1::2] + 1]
    opens = (before == COMMA) | (before == LINE_END) | (before == QUOTE)
    closes = (behind == COMMA) | (behind == LINE_END) | (behind == RETURN) | (behind == QUOTE)
    return bool(opens.all() and closes.all())


def _read_by_csv(file: TextIO, width: int, row: int, lines: int) -> Iterator[Piece]:
    """Yield what csv reads from here on, from this row and line on."""
    reader = csv.reader(file)
    numbered_rows = ((cells, lines + reader.line_num) for cells in reader if cells)
    while batch := list(islice(numbered_rows, ROWS)):
        width = width or len(batch[0][0])
        ragged = {row + at: line for at, (cells, line) in enumerate(batch) if len(cells) != width}
        text, ends = _write_plainly([cells for cells, _ in batch], width)
        yield Piece(text, 0, ends, row, ragged)
        row += len(batch)


def _write_plainly(rows: list[list[str]], width: int) -> tuple[BYTES, I64]:
    """Return the rows as bytes, and where the cells end: each is in quotes and has a comma behind it."""
    cells = ['"{}",'.format(cell.replace('"', '""')).encode() for row in rows for cell in (row + [""] * width)[:width]]
    ends = np.cumsum(np.fromiter(map(len, cells), np.int64, len(cells))) - 1
    return np.frombuffer(b"".join(cells), np.uint8), ends.reshape(-1, width)
