"""Two tensors of which at least one was not saved: held against each other by what both sides have, checksums or
statistics; where only one side saved its values, the other's figures are computed from them.

msprobe's `md5` is a CRC-32 of the bytes, its `xor` the 64-bit words of them in one: equal whatever their order. A
bfloat16 is summed as its 16 bits, before late 2025 as the float32 it widens to. Sources: mindstudio-probe 26.2.0,
msprobe/core/dump/data_dump/data_processor/pytorch_processor.py and msprobe/pytorch/xor_checksum;
https://gitcode.com/Ascend/mstt, debug/accuracy_tools/msprobe/core/data_dump/data_processor/pytorch_processor.py
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ascend_workbook.precision.record import TensorRecord
from ascend_workbook.precision.tensors.tensorfile import Array, locate_tensor, read_tensor

#: Elements at a time; a multiple of 8, so that a block is whole 64-bit words.
BLOCK = 1 << 16
XOR, CRC_DIGITS = "0x", 8


def compare_figures(target: TensorRecord, baseline: TensorRecord) -> tuple[float | None, float | None, bool | None]:
    """Return the largest relative difference of norm and extremes, their largest difference, and whether the checksums
    are the same; None where there is none on both sides. Raises WorkbookError where a saved tensor cannot be read."""
    same = _same_checksums(target, baseline)
    if same:
        return 0.0, 0.0, True
    return *_compare_statistics(_fill_statistics(target, baseline), _fill_statistics(baseline, target)), same


def _same_checksums(target: TensorRecord, baseline: TensorRecord) -> bool | None:
    if target.dtype != baseline.dtype:
        return None
    if target.checksum and baseline.checksum:
        return target.checksum == baseline.checksum
    for checksum, saved in ((target.checksum, baseline.file), (baseline.checksum, target.file)):
        if checksum and saved:
            return checksum in _possible_checksums(saved, checksum)
    return None


def _possible_checksums(path: Path, like: str) -> Iterator[str]:
    """Yield what msprobe's versions make of the tensor, in the manner of `like`."""
    for raw in (True, False):  # they differ for a bfloat16 alone
        if like.startswith(XOR):
            yield f"{XOR}{_xor_words(path, raw):016x}"
        elif len(like) == CRC_DIGITS:
            crc = 0
            for block in _read_blocks(path, raw):
                crc = zlib.crc32(block.tobytes(), crc)
            yield f"{crc:0{CRC_DIGITS}x}"
        else:  # xor tells a scalar itself
            yield str(read_tensor(path).item())


def _xor_words(path: Path, raw: bool) -> int:
    total = 0
    for block in _read_blocks(path, raw):
        data = block.tobytes()
        words = np.frombuffer(data + bytes(-len(data) % 8), np.uint64)
        total ^= int(np.bitwise_xor.reduce(words))
    return total


def _read_blocks(path: Path, raw: bool) -> Iterator[Array]:
    """Yield the elements in order; a bfloat16 as its 16 bits where `raw`, else as float32. A block is gone with the
    next.
    """
    stored = locate_tensor(path)
    if stored.strides is None:
        yield from replace(stored, bfloat16=stored.bfloat16 and not raw).read_blocks(BLOCK)
        return
    flat = np.ascontiguousarray(read_tensor(path)).reshape(-1)
    yield (flat.view(np.uint32) >> 16).astype(np.uint16) if stored.bfloat16 and raw else flat


def _fill_statistics(record: TensorRecord, other: TensorRecord) -> TensorRecord:
    """With the statistics that the other side has and this one, of which the values were saved, has not."""
    if record.file is None or record.norm is not None or record.maximum is not None or other.maximum is None:
        return record
    largest, smallest, squares = -math.inf, math.inf, 0.0
    for block in _read_blocks(record.file, raw=False):
        values = np.abs(block) if block.dtype.kind == "c" else block
        wide = values.astype(np.float64)
        largest, smallest = float(np.maximum(largest, wide.max())), float(np.minimum(smallest, wide.min()))
        squares += float(wide.dot(wide))
    if smallest > largest:
        return record  # no element
    norm = math.sqrt(squares) if other.norm is not None else None
    return replace(record, maximum=largest, minimum=smallest, norm=norm)


def _compare_statistics(target: TensorRecord, baseline: TensorRecord) -> tuple[float | None, float | None]:
    """Compare norm and extremes alone: blind to a permutation and to differences that leave all three alone."""
    pairs = [(target.norm, baseline.norm), (target.maximum, baseline.maximum), (target.minimum, baseline.minimum)]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not known:
        return None, None
    peak = max(abs(b) for _, b in known[1:]) if len(known) > 1 else abs(known[0][1])
    scales = [abs(known[0][1])] + [peak] * (len(known) - 1)
    return max(map(_relative_difference, known, scales)), max(abs(a - b) if a != b else 0.0 for a, b in known)


def _relative_difference(pair: tuple[float, float], scale: float) -> float:
    a, b = pair
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / scale if scale > 0 else math.inf
