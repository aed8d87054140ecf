"""Both files' blocks by the compiled kernel (native/metrics.cpp): read and gone over once, at the speed of the memory.

It takes float32, float16 and bfloat16, the same on both sides. A block with NaN or infinity, or one that cannot be
read, it leaves to Python, and so does a machine without the library; the results are those of metrics.Meter but for
the order in which sums of float64 are added."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import native
from ascend_workbook.precision.tensors.metrics import Found, Meter
from ascend_workbook.precision.tensors.tensorfile import Stored

SOURCE = Path(__file__).parent / "native" / "metrics.cpp"
#: Stored.dtype and whether its bits are bfloat16 -> the kernel's number.
KINDS = {("<f4", False): 0, ("<f2", False): 1, ("<u2", True): 2}


class Totals(ctypes.Structure):
    """The fields of metrics.Found, as the kernel fills them."""

    _fields_ = [
        (figure.name, ctypes.c_double if figure.type == "float" else ctypes.c_int64) for figure in fields(Found)
    ]


@cache
def load_kernel() -> Any:
    """Return the compiled function, or None; explain_missing_kernel() tells why."""
    library = native.load_library(SOURCE).library
    if library is None:
        return None
    function = library.measure_blocks
    function.restype = ctypes.c_int64
    return function


def explain_missing_kernel() -> WorkbookError | None:
    """Explain why there is no kernel, or return None where it is there."""
    return native.load_library(SOURCE).why


def kernel_takes(left: Stored, right: Stored) -> bool:
    """Return whether the kernel is there and knows this pair's dtypes."""
    same = (left.dtype, left.bfloat16) == (right.dtype, right.bfloat16)
    return same and (left.dtype, left.bfloat16) in KINDS and sys.byteorder == "little" and load_kernel() is not None


def add_all(meter: Meter, left: Stored, right: Stored, block: int, chosen: Sequence[int] | None) -> None:
    """Add every block of `block` elements, or those whose numbers are `chosen`, of two files for which kernel_takes()
    is true. Raises WorkbookError where a file cannot be read or has become shorter."""
    count = -(-left.size // block) if chosen is None else len(chosen)
    at = 0
    with left.open_file() as left_file, right.open_file() as right_file:
        files = (left_file.fileno(), right_file.fileno())
        while True:
            at += _take_blocks(meter, files, left, right, block, chosen, at, count)
            if at >= count:
                return
            number = at if chosen is None else chosen[at]
            meter.add_all(zip(left.read_blocks(block, [number]), right.read_blocks(block, [number])))
            at += 1


def _take_blocks(
    meter: Meter,
    files: tuple[int, int],
    left: Stored,
    right: Stored,
    block: int,
    chosen: Sequence[int] | None,
    at: int,
    until: int,
) -> int:
    """Adds the blocks from `at` on as far as the kernel goes; how many."""
    totals = Totals()
    parts = (ctypes.c_double * (2 * (until - at)))() if meter.parts is not None else None
    numbers = (ctypes.c_int64 * len(chosen))(*chosen) if chosen is not None else None
    starts = (ctypes.c_int64 * 2)(left.start, right.start)
    where = map(ctypes.c_int64, (left.size, block))
    count = int(
        load_kernel()(
            (ctypes.c_int32 * 2)(*files),
            starts,
            KINDS[left.dtype, left.bfloat16],
            *where,
            numbers,
            *map(ctypes.c_int64, (at, until)),
            ctypes.byref(totals),
            parts,
        )
    )
    each = [(parts[2 * block], parts[2 * block + 1], 0, 0) for block in range(count)] if parts is not None else []
    meter.take_sums(Found(*(getattr(totals, block.name) for block in fields(Found))), each)
    return count
