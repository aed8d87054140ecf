"""Chrome trace JSON as Python values, times without loss, and a clear word for a broken file."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.words import Scalar


def load(path: Path) -> Any:
    """The JSON value of a .json or .json.gz file; numbers with a point stay texts.

    A float64 of epoch microseconds resolves 0.25 us, and the times relative to a base that torch 2.x writes
    1 ns at best: as text they lose nothing. Raises WorkbookError naming the file and the place of a fault.
    """
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
    try:
        return json.loads(data.decode("utf-8"), parse_float=str)
    except UnicodeDecodeError as cause:
        raise WorkbookError("profiling.not_utf8", path=str(path), byte=cause.start) from cause
    except json.JSONDecodeError as cause:
        key = "profiling.cut_short" if not data.rstrip().endswith((b"}", b"]")) else "profiling.broken_json"
        place: dict[str, Scalar] = {"line": cause.lineno, "column": cause.colno, "byte": cause.pos}
        raise WorkbookError(key, path=str(path), error=cause.msg, **place) from cause


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


class Times:
    """Start and duration of complete events; counts what had to be left out, by reason."""

    def __init__(self, base_ns: int = 0) -> None:
        self.base_ns = base_ns
        self.left_out: Counter[str] = Counter()

    def of(self, event: dict[str, Any]) -> tuple[int, int] | None:
        """(start_ns, duration_ns), or None for an event that has no usable times."""
        try:
            start_ns, duration_ns = self.moment(event["ts"]), nanoseconds(event["dur"])
        except (KeyError, ValueError):
            self.left_out["no_time"] += 1
            return None
        if duration_ns < 0:
            self.left_out["negative_duration"] += 1
            return None
        if not 0 <= start_ns < 2**62:
            self.left_out["time_out_of_range"] += 1
            return None
        return start_ns, duration_ns

    def moment(self, microseconds: Any) -> int:
        return nanoseconds(microseconds) + self.base_ns
