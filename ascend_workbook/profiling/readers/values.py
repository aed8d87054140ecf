"""Times, dtypes and call stacks as profilers write them -> whole nanoseconds without a float between, one way to write.

A float64 of epoch microseconds resolves 0.25 us, and the times relative to a base that torch 2.x writes 1 ns at
best: as text they lose nothing."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

import numpy as np

from ascend_workbook.profiling.intervals import I64

#: Instead of nanoseconds: there is no time, or one that no clock shows
NO_TIME, OUT_OF_RANGE = -(2**63), -(2**63) + 1
LIMIT = 2**62
MOST_DIGITS = 16


def to_nanoseconds(microseconds: object) -> int:
    """Turn microseconds as int, text or Decimal text into whole nanoseconds, exact to the nanosecond; LIMIT, with the
    sign, for what is further away than that and told with a power of ten. Raises ValueError for what is no finite
    number."""
    if isinstance(microseconds, int) and not isinstance(microseconds, bool):
        return microseconds * 1000
    text = str(microseconds).strip()
    whole, _, part = text.partition(".")
    if (
        whole.isdigit() and len(whole) <= MOST_DIGITS + 2 and (part.isdigit() or not part) and part[3:4] != "5"
    ):  # whether it is half needs a closer look
        return int(whole) * 1000 + int((part + "000")[:3]) + (part[3:4] > "5")
    try:
        time = Decimal(text)
        if time.is_finite() and time.adjusted() > MOST_DIGITS:  # 1e999999 would be a number of a million digits
            return -LIMIT if time.is_signed() else LIMIT
        return int((time * 1000).to_integral_value(ROUND_HALF_EVEN))
    except (InvalidOperation, OverflowError, ValueError):
        raise ValueError(f"not a time: {microseconds!r}") from None


def nanoseconds_of(times: Sequence[object]) -> I64:
    """Turn microseconds as json reads them, floats as texts, into nanoseconds (n,), NO_TIME or OUT_OF_RANGE where there
    are none."""
    return np.fromiter(map(_time_or_mark, times), np.int64, len(times))


def _time_or_mark(microseconds: object) -> int:
    try:
        time = to_nanoseconds(microseconds)
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
