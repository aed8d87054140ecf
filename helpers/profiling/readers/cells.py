"""A column of a table (CSV) as places in its bytes: many cells are compared and made numbers at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from helpers.profiling.intervals import I64
from helpers.profiling.readers.times import LIMIT
from helpers.profiling.trace import Texts

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
    def of(cls, text: npt.NDArray[np.uint8], begins: I64, ends: I64, rows: I64) -> Cells:
        """Leaves out the blanks and the tab that start times end in."""
        for _ in range(int((ends - begins).max(initial=0))):
            last, first = _blank(text, ends - 1), _blank(text, begins)
            filled = ends > begins
            if not (filled & (last | first)).any():
                break
            ends = ends - (filled & last)
            begins = begins + ((ends > begins) & first)
        return cls(text, begins, ends, rows)

    def filled(self) -> Mask:
        """Which cells are not empty: (n,)."""
        return self.ends > self.begins

    def where(self, wanted: Mask) -> Cells:
        return Cells(self.text, self.begins[wanted], self.ends[wanted], self.rows[wanted])

    def equal(self, *texts: str) -> Mask:
        """Which cells are one of these texts: (n,)."""
        found = np.zeros(self.begins.size, np.bool_)
        for wanted in map(str.encode, texts):
            found |= (self.ends - self.begins == len(wanted)) & self.begin(wanted)
        return found

    def begin(self, wanted: bytes) -> Mask:
        """Which cells begin with this: (n,)."""
        found = self.ends - self.begins >= len(wanted)
        for place, byte in enumerate(wanted):
            found &= self.text.take(self.begins + place, mode="clip") == byte
        return found

    def texts(self) -> Texts:
        """The cells as texts, each one once."""
        raw = self.text.tobytes()
        cells = [raw[begin:end] for begin, end in zip(self.begins.tolist(), self.ends.tolist())]
        number = {cell: at for at, cell in enumerate(dict.fromkeys(cells))}
        code = np.fromiter(map(number.__getitem__, cells), np.int32, len(cells))
        return Texts([cell.decode().replace('""', '"').strip() for cell in number], code)

    def numbers(self, one: Float) -> F64:
        """The cells as numbers (n,), as float() reads them, NaN where there are none; unusual ones as `one` says."""
        whole, behind, usual = self._decimals()
        usual &= (whole < EXACT) & (behind <= MOST_BEHIND)
        found = whole / 10.0 ** np.minimum(behind, MOST_BEHIND)
        absent = self.equal(*ABSENT)
        found[absent] = np.nan
        for at in np.flatnonzero(~usual & ~absent).tolist():
            found[at] = one(self._text(at), int(self.rows[at]))
        return found

    def times_ns(self, one: Time) -> I64:
        """The cells, in microseconds, as nanoseconds (n,); unusual ones as `one` says."""
        whole, behind, usual = self._decimals()
        usual &= (behind <= 3) & (whole < LIMIT // 10 ** (3 - np.minimum(behind, 3)))
        found: I64 = whole * 10 ** (3 - np.minimum(behind, 3))
        for at in np.flatnonzero(~usual).tolist():
            found[at] = one(self._text(at), int(self.rows[at]))
        return found

    def _text(self, at: int) -> str:
        return self.text[self.begins[at] : self.ends[at]].tobytes().decode().replace('""', '"').strip()

    def _decimals(self) -> tuple[I64, I64, Mask]:
        """For cells such as 1091.6948: all digits as a whole number, how many are behind the point, and which cells
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


def _blank(text: npt.NDArray[np.uint8], at: I64) -> Mask:
    byte = text.take(at, mode="clip")
    blank: Mask = (byte == 32) | ((byte >= 9) & (byte <= 13))
    return blank
