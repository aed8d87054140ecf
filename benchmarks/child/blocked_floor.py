"""The floor of a comparison: two files read once and msprobe's metrics made of them once, in blocks, in plain numpy.

Nothing of the workbook is used here, so that what is held against it owes it nothing.
"""

from __future__ import annotations

import math
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BLOCK = 32 << 10
LOCAL_HEADER, NAME_AT = 30, 26


def ready(_: int) -> None:
    """Answers late enough for every process to be asked: those that have answered have imported numpy."""
    time.sleep(0.2)


def floats(path: str) -> tuple[int, int]:
    """Where the one float32 tensor of a .pt begins in the file, and how many elements it has."""
    with zipfile.ZipFile(path) as archive:
        (info,) = (one for one in archive.infolist() if one.filename.endswith("/data/0"))
    with Path(path).open("rb") as stream:
        stream.seek(info.header_offset + NAME_AT)
        name, extra = (int.from_bytes(stream.read(2), "little") for _ in range(2))
    return info.header_offset + LOCAL_HEADER + name + extra, info.file_size // 4


def read(files: tuple[str, str]) -> int:
    """Reads both files in blocks and looks at nothing; how many bytes."""
    buffer, found = bytearray(4 * BLOCK), 0
    for path in files:
        with Path(path).open("rb", buffering=0) as stream:
            while got := stream.readinto(buffer):
                found += got
    return found


def metrics(files: tuple[str, str]) -> dict[str, float]:
    """Of target and baseline: cosine, euclidean, largest differences, the two ratios, and each side's own numbers."""
    starts, counts = zip(*map(floats, files))
    total, sums = counts[0], np.zeros(6)
    most, relative, within = 0.0, 0.0, [0, 0]
    ends = [[-math.inf, math.inf], [-math.inf, math.inf]]
    single, double = np.empty((3, BLOCK), np.float32), np.empty((3, BLOCK))  # made once: fresh pages cost most
    with Path(files[0]).open("rb", buffering=0) as mine, Path(files[1]).open("rb", buffering=0) as theirs:
        mine.seek(starts[0])
        theirs.seek(starts[1])
        for at in range(0, total, BLOCK):
            count = min(BLOCK, total - at)
            narrow, wide = single[:, :count], double[:, :count]
            mine.readinto(narrow[0].data)
            theirs.readinto(narrow[1].data)
            one = _block(narrow, wide, sums, ends)
            most, relative = max(most, one[0]), max(relative, one[1])
            within = [within[0] + one[2], within[1] + one[3]]
    dot, left, right, apart, first, second = sums
    return {
        "cosine": dot / math.sqrt(left * right),
        "euclidean": math.sqrt(apart),
        "max_absolute": most,
        "max_relative": relative,
        "thousandth": within[0] / total,
        "five": within[1] / total,
        "norm": math.sqrt(left),
        "norm_b": math.sqrt(right),
        "mean": first / total,
        "mean_b": second / total,
        "max": ends[0][0],
        "min": ends[0][1],
        "max_b": ends[1][0],
        "min_b": ends[1][1],
    }


def _block(narrow: Array, wide: Array, sums: Array, ends: list[list[float]]) -> tuple[float, float, int, int]:
    """Adds the block's sums and extremes; gives max_absolute, max_relative and the counts within 1e-3 and 5e-3. Of
    `narrow` and `wide` the first row is the target, the second the baseline, the third a place to compute in."""
    (a, b, shares), (left, right, apart) = narrow, wide
    np.copyto(left, a)
    np.copyto(right, b)
    np.subtract(left, right, out=apart)
    sums += left @ right, left @ left, right @ right, apart @ apart, left.sum(), right.sum()
    for values, kept in ((a, ends[0]), (b, ends[1])):
        kept[:] = max(kept[0], float(values.max())), min(kept[1], float(values.min()))
    b[b == 0] = np.finfo(np.float32).eps
    np.subtract(a, b, out=shares)
    np.divide(shares, b, out=shares)
    np.abs(shares, out=shares)
    return (
        max(float(apart.max()), -float(apart.min())),
        float(shares.max()),
        int(np.count_nonzero(shares < np.float32(1e-3))),
        int(np.count_nonzero(shares < np.float32(5e-3))),
    )
