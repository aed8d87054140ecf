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

from helpers.profiling.intervals import I64

#: Instead of nanoseconds: there is no time, or one that no clock shows
NO_TIME, OUT_OF_RANGE = -(2**63), -(2**63) + 1
LIMIT = 2**62
MOST_DIGITS = 16


def nanoseconds(microseconds: Any) -> int:
    """Microseconds as int, text or Decimal text -> whole nanoseconds, exact to the nanosecond.

    Raises ValueError for what is no finite number.
    """
    if isinstance(microseconds, int) and not isinstance(microseconds, bool):
        return microseconds * 1000
    text = str(microseconds).strip()
    whole, _, part = text.partition(".")
    if whole.isdigit() and len(part) <= 3 and (part.isdigit() or not part):
        return int(whole) * 1000 + int((part + "000")[:3])
    try:
        return int((Decimal(text) * 1000).to_integral_value(ROUND_HALF_EVEN))
    except (InvalidOperation, OverflowError, ValueError):
        raise ValueError(f"not a time: {microseconds!r}") from None


def nanoseconds_of(texts: Sequence[msgspec.Raw]) -> I64:
    """Microseconds as JSON text, many at once -> nanoseconds (n,), NO_TIME or OUT_OF_RANGE where there are none."""
    joined = b"\n".join(texts).translate(None, b'"')
    plain = bool(joined) and not joined.translate(None, b"0123456789.\n")
    found = _plain(joined, len(texts)) if plain else None
    return np.fromiter(map(_one, texts), np.int64, len(texts)) if found is None else found


def _plain(joined: bytes, count: int) -> I64 | None:
    """Digits, and at most three behind at most one point, one number a line; None where a line is anything else."""
    text = np.frombuffer(joined + b"\n", np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    dots = np.flatnonzero(text == ord("."))
    rows = np.searchsorted(ends, dots)
    if ends.size != count or np.any(rows[1:] == rows[:-1]):
        return None
    behind, whole = np.zeros(count, np.int64), np.diff(ends, prepend=-1) - 1
    behind[rows] = ends[rows] - dots - 1
    whole[rows] -= behind[rows] + 1
    if behind.max() > 3 or not 1 <= whole.min() <= whole.max() <= MOST_DIGITS:
        return None
    digits = np.fromstring(joined.translate(None, b".").decode(), np.int64, sep="\n")
    if digits.size != count or (digits // 10**behind).max() >= LIMIT // 1000:
        return None
    scaled: I64 = digits * 10 ** (3 - behind)
    return scaled


def _one(text: msgspec.Raw) -> int:
    try:
        found = nanoseconds(json.loads(bytes(text), parse_float=str))
    except ValueError:
        return NO_TIME
    return found if -LIMIT < found < LIMIT else OUT_OF_RANGE
