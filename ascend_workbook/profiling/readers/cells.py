"""A column of a table (CSV) as places in its bytes: many cells are compared and made numbers at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.times import LIMIT
from ascend_workbook.profiling.trace import Texts

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
        the unusual ones.
        """
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
        """Split cells such as 1091.6948: all digits as a whole number, how many are behind the point, and which cells
        are such ones: each (n,)."""
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
