"""The dtype that a tensor's numbers are of, whatever its own: under autocast a float32 gradient is often a float16 one,
widened by a cast that no dump records. Its rounding is the coarse one's.

Told by the extremes: all that are recorded, on both sides, are numbers that the coarse dtype holds. Of float32 numbers
one in some thousands is such a one by chance, and four of them never are."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

from ascend_workbook.precision.record import TensorRecord
from ascend_workbook.precision.tensors.agreement import Agreement

COARSE = ("float16", "bfloat16")
#: So many extremes that are no powers of two make a case.
FEWEST = 2


def effective_dtypes(agreement: Agreement) -> tuple[str, ...]:
    """The operator's floating dtypes, and the coarse ones that its inputs' numbers are of."""
    pair = agreement.pair
    baseline_inputs = {record.slot: record for record in pair.baseline.inputs}
    pairs = [(t, baseline_inputs[t.slot]) for t in pair.target.inputs if t.slot in baseline_inputs]
    return (*agreement.dtypes, *sorted({_held_dtype(records) for records in pairs} - {""}))


def _held_dtype(records: Iterable[TensorRecord]) -> str:
    extremes = [value for t in records if t.dtype == "float32" for value in (t.maximum, t.minimum)]
    values = [value for value in extremes if value is not None and math.isfinite(value)]
    if sum(math.frexp(value)[0] not in (0.0, 0.5, -0.5) for value in values) < FEWEST:
        return ""
    return next((dtype for dtype in COARSE if all(_dtype_holds(dtype, value) for value in values)), "")


def _dtype_holds(dtype: str, value: float) -> bool:
    if dtype == "bfloat16":
        return struct.pack(">f", value)[2:] == bytes(2)
    try:
        return bool(struct.unpack("e", struct.pack("e", value))[0] == value)
    except OverflowError:
        return False
