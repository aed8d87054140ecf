"""Both files' blocks by the compiled kernel (native/metrics.cpp): read and gone over once, at the speed of the memory.

It takes float32, float16 and bfloat16, the same on both sides. A block with NaN or infinity, or one that cannot be
read, it leaves to Python, and so does a machine without the library; the results are those of metrics.Meter but for
the order in which sums of float64 are added.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from helpers import native
from helpers.errors import WorkbookError
from helpers.precision.tensors.metrics import Found, Meter
from helpers.precision.tensors.tensorfile import Stored

SOURCE = Path(__file__).parent / "native" / "metrics.cpp"
#: Stored.dtype and whether its bits are bfloat16 -> the kernel's number.
KINDS = {("<f4", False): 0, ("<f2", False): 1, ("<u2", True): 2}


class Totals(ctypes.Structure):
    """The fields of metrics.Found, as the kernel fills them."""

    _fields_ = [(one.name, ctypes.c_double if one.type == "float" else ctypes.c_int64) for one in fields(Found)]


@cache
def kernel() -> Any:
    """The compiled function, or None; missing() tells why."""
    library = native.load(SOURCE).library
    if library is None:
        return None
    found = library.measure_blocks
    found.restype = ctypes.c_int64
    return found


def missing() -> WorkbookError | None:
    """Why there is no kernel, or None where it is there."""
    return native.load(SOURCE).why


def takes(left: Stored, right: Stored) -> bool:
    """Whether the kernel is there and knows this pair's dtypes."""
    same = (left.dtype, left.bfloat16) == (right.dtype, right.bfloat16)
    return same and (left.dtype, left.bfloat16) in KINDS and sys.byteorder == "little" and kernel() is not None


def add_all(meter: Meter, left: Stored, right: Stored, block: int, chosen: Sequence[int] | None) -> None:
    """Adds every block of `block` elements, or those whose numbers are `chosen`, of two files for which takes() is
    true. Raises WorkbookError where a file cannot be read or has become shorter."""
    count = -(-left.size // block) if chosen is None else len(chosen)
    at = 0
    with left.opened() as one, right.opened() as other:
        files = (one.fileno(), other.fileno())
        while True:
            at += _taken(meter, files, left, right, block, chosen, at, count)
            if at >= count:
                return
            number = at if chosen is None else chosen[at]
            meter.add_all(zip(left.blocks(block, iter([number])), right.blocks(block, iter([number]))))
            at += 1


def _taken(meter: Meter, files: tuple[int, int], left: Stored, right: Stored, block: int,
           chosen: Sequence[int] | None, at: int, until: int) -> int:  # fmt: skip
    """Adds the blocks from `at` on as far as the kernel goes; how many."""
    totals = Totals()
    parts = (ctypes.c_double * (2 * (until - at)))() if meter.parts is not None else None
    numbers = (ctypes.c_int64 * len(chosen))(*chosen) if chosen is not None else None
    starts = (ctypes.c_int64 * 2)(left.start, right.start)
    where = map(ctypes.c_int64, (left.size, block))
    count = int(kernel()((ctypes.c_int32 * 2)(*files), starts, KINDS[left.dtype, left.bfloat16], *where, numbers,
                         *map(ctypes.c_int64, (at, until)), ctypes.byref(totals), parts))  # fmt: skip
    each = [(parts[2 * one], parts[2 * one + 1]) for one in range(count)] if parts is not None else []
    meter.take(Found(*(getattr(totals, one.name) for one in fields(Found))), each)
    return count
