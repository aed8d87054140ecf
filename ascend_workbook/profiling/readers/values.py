"""Times, dtypes and call stacks as profilers write them -> whole nanoseconds without a float between, one way to write.

A float64 of epoch microseconds resolves 0.25 us, and the times relative to a base that torch 2.x writes 1 ns at
best: as text they lose nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64

#: Instead of nanoseconds: there is no time, or one that no clock shows
NO_TIME, OUT_OF_RANGE = -(2**63), -(2**63) + 1
LIMIT = 2**62
MOST_DIGITS = 16
NEWLINE, POINT, ZERO, QUOTE = b'\n.0"'
USUAL = b'0123456789."\n'
#: Bytes of text that are looked at together: enough to make little of what each look costs, few enough for a cache
AT_ONCE = 2**19


def to_nanoseconds(microseconds: object) -> int:
    """Turn microseconds as int, text or Decimal text into whole nanoseconds, exact to the nanosecond; LIMIT, with the
    sign, for what is further away than that and told with a power of ten.

    Raises ValueError for what is no finite number.
    """
    if isinstance(microseconds, int) and not isinstance(microseconds, bool):
        return microseconds * 1000
    text = str(microseconds).strip()
    whole, _, part = text.partition(".")
    if whole.isdigit() and (part.isdigit() or not part) and part[3:4] != "5":  # whether it is half needs a closer look
        return int(whole) * 1000 + int((part + "000")[:3]) + (part[3:4] > "5")
    try:
        time = Decimal(text)
        if time.is_finite() and time.adjusted() > MOST_DIGITS:  # 1e999999 would be a number of a million digits
            return -LIMIT if time.is_signed() else LIMIT
        return int((time * 1000).to_integral_value(ROUND_HALF_EVEN))
    except (InvalidOperation, OverflowError, ValueError):
        raise ValueError(f"not a time: {microseconds!r}") from None


def nanoseconds_of(texts: Sequence[msgspec.Raw | bytes]) -> I64:
    """Turn microseconds as JSON text into nanoseconds (n,), NO_TIME or OUT_OF_RANGE where there are none."""
    times = Times()
    times.add_texts(texts)
    return times.all_nanoseconds()


class Times:
    """Nanoseconds of microseconds as JSON text that come in portions."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._converted_parts: list[I64] = [np.empty(0, np.int64)]

    def add_texts(self, texts: Sequence[msgspec.Raw | bytes]) -> None:
        lines = b"\n".join([*texts, b""])
        if lines.count(b"\n") != len(texts):  # only lists and objects have line ends in them, which are no times
            lines = b"".join((b"" if b"\n" in (text := bytes(entry)) else text) + b"\n" for entry in texts)
        self._lines.append(lines)
        self._size += len(lines)
        if self._size > AT_ONCE:
            self._convert_lines()

    def all_nanoseconds(self) -> I64:
        """Return the nanoseconds of all texts, in their order: (n,)."""
        self._convert_lines()
        self._converted_parts = [np.concatenate(self._converted_parts)]
        return self._converted_parts[0]

    def _convert_lines(self) -> None:
        if self._size:
            self._converted_parts.append(_convert_texts(b"".join(self._lines)))
            self._lines, self._size = [], 0


def _convert_texts(lines: bytes) -> I64:
    text = np.frombuffer(lines, np.uint8)
    line_ends = np.flatnonzero(text == NEWLINE)
    line_begins = np.concatenate([[0], line_ends[:-1] + 1])
    quoted = text[line_begins] == QUOTE
    begins, ends = line_begins + quoted, line_ends - quoted
    points, several = _find_points(text, begins, ends)
    unusual = several | (points - begins > MOST_DIGITS) | (points <= begins)
    if lines.translate(None, USUAL):
        unusual[np.searchsorted(line_ends, np.flatnonzero(~np.isin(text, list(USUAL))))] = True
    converted = _read_digits(text - ZERO, begins, points, ends)
    if (ends - points).max() > 4:
        fourth = np.where(ends - points > 4, text.take(points + 4, mode="clip") - ZERO, 0)
        converted += fourth > 5
        unusual |= fourth == 5  # whether it is half needs a closer look
    unusual |= (converted < 0) | (converted >= LIMIT)  # below 0: more than int64 holds
    for at in np.flatnonzero(unusual).tolist():
        converted[at] = _convert_unusual(lines[line_begins[at] : line_ends[at]])
    return converted


def _find_points(text: npt.NDArray[np.uint8], begins: I64, ends: I64) -> tuple[I64, npt.NDArray[np.bool_]]:
    """Return for each text where its point is, or its end where it has none; and whether it has several."""
    dots = np.flatnonzero(text == POINT)
    if dots.size == ends.size and np.all((dots >= begins) & (dots < ends)):
        return dots, np.zeros(ends.size, np.bool_)
    rows = np.searchsorted(ends, dots)
    points, several = ends.copy(), np.bincount(rows, minlength=ends.size) > 1
    points[rows] = dots
    return points, several


def _read_digits(digits: npt.NDArray[np.uint8], begins: I64, points: I64, ends: I64) -> I64:
    """Return the digits before the point and three behind it as whole numbers; anything where they are none."""
    whole, behind = points - begins, ends - points - 1
    first, apart = int(whole[0]), np.diff(begins)
    alike = apart.size > 0 and np.all(whole == first) and np.all(behind == 3) and np.ptp(apart) == 0
    if 6 < first <= MOST_DIGITS and alike:
        table = digits[begins[0] :]  # start times: as wide as each other
        table = np.append(table, np.zeros(-table.size % int(apart[0]), np.uint8)).reshape(-1, int(apart[0]))
        low = first - 6
        return (
            10**9 * _digits_to_numbers(table[:, :low])
            + 1000 * _digits_to_numbers(table[:, low:first])
            + _digits_to_numbers(table[:, first + 1 : first + 4])
        )
    numbers = np.zeros(ends.size, np.int64)
    for place in range(min(int(whole.max()), MOST_DIGITS), 0, -1):
        digit = digits.take(points - place, mode="clip")
        numbers = 10 * numbers + np.where(place <= whole, digit, 0)
    for place in range(1, 4):
        digit = digits.take(points + place, mode="clip")
        numbers = 10 * numbers + np.where(place <= behind, digit, 0)
    return numbers


def _digits_to_numbers(digits: npt.NDArray[np.uint8]) -> I64:
    """Turn digits (n, places), at most ten places, into their numbers (n,)."""
    weights = 10.0 ** np.arange(digits.shape[1] - 1, -1, -1)
    summed: I64 = (digits.astype(np.float64) @ weights).astype(np.int64)
    return summed


def _convert_unusual(text: bytes) -> int:
    number = text.replace(b".", b"", 1).isdigit()
    try:
        time = to_nanoseconds(text.decode() if number else json.loads(text, parse_float=str))
    except ValueError:
        return NO_TIME
    return time if -LIMIT < time < LIMIT else OUT_OF_RANGE


#: What C++, torch 1.8 to 2.13 and CANN call a dtype -> what torch does; whatever else stands there is no tensor
OWN_NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
)
OTHER_NAMES = """float32 float
float64 double
float16 c10::half
bfloat16 c10::bfloat16 bf16 dt_bf16
int64 long
int32 int
int16 short
int8 char
complex64 c10::complex<float>
complex128 c10::complex<double>
float8_e4m3fn c10::float8_e4m3fn
float8_e5m2 c10::float8_e5m2"""
NAMES = {
    **{name: name for name in OWN_NAMES.split()},
    **{name: own for own, *names in map(str.split, OTHER_NAMES.splitlines()) for name in names},
    "long int": "int64",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
}


def format_dtypes(value: object) -> str:
    """Turn `["float", "Scalar"]`, `float;\\r\\nScalar` or `FLOAT;DT_BF16` into the tensors' dtypes, `float32 bfloat16`.

    The scalars of old traces (`Int`, `Bool`, `Double`) begin with a capital and are told apart by that.
    """
    entries = value if isinstance(value, list) else str(value or "").split(";")
    texts = [str(entry).strip(' \t\r\n"') for entry in entries]
    return " ".join(NAMES[text.lower()] for text in texts if text.lower() in NAMES and not text.istitle())


def format_call_stack(value: object) -> str:
    """Return a call stack, innermost call first, as lines."""
    first, *others = value.strip('"').split(";") if isinstance(value, str) else [""]
    return "\n".join(call for call in (first, *map(str.lstrip, others)) if call and not call.isspace())
