"""Times as profilers write them -> whole nanoseconds, without a float between.

A float64 of epoch microseconds resolves 0.25 us, and the times relative to a base that torch 2.x writes 1 ns at
best: as text they lose nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from helpers.profiling.intervals import I64

#: Instead of nanoseconds: there is no time, or one that no clock shows
NO_TIME, OUT_OF_RANGE = -(2**63), -(2**63) + 1
LIMIT = 2**62
MOST_DIGITS = 16
NEWLINE, POINT, ZERO = b"\n.0"
USUAL = b"0123456789.\n"


def nanoseconds(microseconds: Any) -> int:
    """Microseconds as int, text or Decimal text -> whole nanoseconds, exact to the nanosecond.

    Raises ValueError for what is no finite number.
    """
    if isinstance(microseconds, int) and not isinstance(microseconds, bool):
        return microseconds * 1000
    text = str(microseconds).strip()
    whole, _, part = text.partition(".")
    if whole.isdigit() and (part.isdigit() or not part) and part[3:4] != "5":  # whether it is half needs a closer look
        return int(whole) * 1000 + int((part + "000")[:3]) + (part[3:4] > "5")
    try:
        return int((Decimal(text) * 1000).to_integral_value(ROUND_HALF_EVEN))
    except (InvalidOperation, OverflowError, ValueError):
        raise ValueError(f"not a time: {microseconds!r}") from None


def nanoseconds_of(texts: Sequence[msgspec.Raw]) -> I64:
    """Microseconds as JSON text, many at once -> nanoseconds (n,), NO_TIME or OUT_OF_RANGE where there are none."""
    if not texts:
        return np.empty(0, np.int64)
    joined = b"\n".join([*texts, b""]).translate(None, b'"')
    text = np.frombuffer(joined, np.uint8)
    ends = np.flatnonzero(text == NEWLINE)
    if ends.size != len(texts):  # a text in which a line ends
        return np.fromiter(map(_one, texts), np.int64, len(texts))
    begins = np.concatenate([[0], ends[:-1] + 1])
    points, several = _points(text, begins, ends)
    unusual = several | (points - begins > MOST_DIGITS) | (points == begins)
    if joined.translate(None, USUAL):
        unusual[np.searchsorted(ends, np.flatnonzero(~np.isin(text, list(USUAL))))] = True
    found = _number(text - ZERO, begins, points, ends)
    if (ends - points).max() > 4:
        fourth = np.where(ends - points > 4, text.take(points + 4, mode="clip") - ZERO, 0)
        found += fourth > 5
        unusual |= fourth == 5  # whether it is half needs a closer look
    unusual |= (found < 0) | (found >= LIMIT)  # below 0: more than int64 holds
    for at in np.flatnonzero(unusual).tolist():
        found[at] = _one(texts[at])
    return found


def _points(text: npt.NDArray[np.uint8], begins: I64, ends: I64) -> tuple[I64, npt.NDArray[np.bool_]]:
    """For each text where its point is, or its end where it has none; and whether it has several."""
    dots = np.flatnonzero(text == POINT)
    if dots.size == ends.size and np.all((dots >= begins) & (dots < ends)):
        return dots, np.zeros(ends.size, np.bool_)
    rows = np.searchsorted(ends, dots)
    points, several = ends.copy(), np.bincount(rows, minlength=ends.size) > 1
    points[rows] = dots
    return points, several


def _number(digits: npt.NDArray[np.uint8], begins: I64, points: I64, ends: I64) -> I64:
    """The digits before the point and three behind it as whole numbers; no matter what where they are not digits."""
    whole, behind = points - begins, ends - points - 1
    first, last = int(whole[0]), int(behind[0])
    if 6 < first <= MOST_DIGITS and last == 3 and (whole == first).all() and (behind == last).all():
        table = digits.reshape(ends.size, first + 5)  # start times: as wide as each other
        return 10**9 * _sum(table[:, : first - 6]) + 1000 * _sum(table[:, first - 6 : first]) + _sum(table[:, -4:-1])
    found = np.zeros(ends.size, np.int64)
    for place in range(min(int(whole.max()), MOST_DIGITS), 0, -1):
        digit = digits.take(points - place, mode="clip")
        found = 10 * found + np.where(place <= whole, digit, 0)
    for place in range(1, 4):
        digit = digits.take(points + place, mode="clip")
        found = 10 * found + np.where(place <= behind, digit, 0)
    return found


def _sum(digits: npt.NDArray[np.uint8]) -> I64:
    """Digits (n, places), at most ten places -> their numbers (n,)."""
    weights = 10.0 ** np.arange(digits.shape[1] - 1, -1, -1)
    summed: I64 = (digits.astype(np.float64) @ weights).astype(np.int64)
    return summed


def _one(text: msgspec.Raw) -> int:
    told = bytes(text)
    number = told.replace(b".", b"", 1).isdigit()
    try:
        found = nanoseconds(told.decode() if number else json.loads(told, parse_float=str))
    except ValueError:
        return NO_TIME
    return found if -LIMIT < found < LIMIT else OUT_OF_RANGE
