"""How near each operator comes to what the chip can do: the roofline, of every kernel whose shapes are known.

The least time of a kernel is the longer of its multiplications over the cubes' speed and its bytes over the memory's
bandwidth; what it took against that is its efficiency. Bytes that lie in the cache can be faster than the memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ascend_workbook.estimates.kernels import peak_operations
from ascend_workbook.estimates.loads import Kernel, Load, Shape, measure_kernel
from ascend_workbook.profiling.device.chip import Found, find_chip_of
from ascend_workbook.profiling.readers.tables import KernelTable

SHAPED = ("type", "input_shapes", "input_types", "output_shapes", "output_types")


@dataclass(frozen=True)
class Efficiency:
    """The kernels of one type: how many, how long, what they multiplied and moved, the least time for that, and of
    which of the two that is (computing or memory)."""

    type: str
    kernels: int
    seconds: float
    operations: float
    bytes: float
    least_s: float
    bound: str

    @property
    def share_of_peak(self) -> float:
        """Return the least time over what was taken: above 1 where the cache was faster than the memory."""
        return self.least_s / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Roofline:
    """All types, the longest first; `known` is the share of the kernels' time whose shapes are known."""

    found: Found
    rows: tuple[Efficiency, ...]
    known: float

    @property
    def operations(self) -> float:
        return sum(row.operations for row in self.rows)


def measure_roofline(table: KernelTable | None, chip: str = "") -> Roofline | None:
    """Measure the kernels against the chip of this name, else the one that they tell of; None where the table does not
    tell shapes, times or the chip."""
    if table is None or not table.has_columns(*SHAPED):
        return None
    match = find_chip_of(table, chip)
    if match is None:
        return None
    sums: dict[str, list[float]] = {}
    known_us = 0.0
    for load, kind, microseconds in _loads_of(table):
        seconds = microseconds / 1e6
        known_us += microseconds
        by_cubes = load.operations / peak_operations(load, match.chip)
        by_memory = load.bytes / match.chip.bandwidth_bytes_s
        row = sums.setdefault(kind, [0.0] * 6)
        for at, value in enumerate((1.0, seconds, load.operations, load.bytes, max(by_cubes, by_memory))):
            row[at] += value
        row[5] += seconds if by_cubes >= by_memory else 0.0
    if not sums:
        return None
    rows = [_make_row(kind, values) for kind, values in sums.items()]
    total_us = float(np.nansum(table.numbers["duration_us"]))
    return Roofline(match, tuple(sorted(rows, key=lambda row: -row.seconds)), known_us / total_us if total_us else 0.0)


def _make_row(kind: str, values: list[float]) -> Efficiency:
    count, seconds, operations, moved, least, by_cubes = values
    bound = "computing" if 2 * by_cubes >= seconds else "memory"
    return Efficiency(kind, round(count), seconds, operations, moved, least, bound)


def _loads_of(table: KernelTable) -> Iterator[tuple[Load, str, float]]:
    """Yield load, type and microseconds of each kernel that has shapes and a time."""
    names = (*SHAPED, "formats") if "formats" in table.texts else SHAPED
    codes = np.stack([table.texts[name].code for name in names])
    distinct, at = np.unique(codes, axis=1, return_inverse=True)
    kernels = [_read_kernel(table, names, code) for code in distinct.T.tolist()]
    for number, microseconds in zip(at.ravel().tolist(), table.numbers["duration_us"].tolist()):
        kernel = kernels[number]
        if kernel is not None and microseconds > 0:
            yield measure_kernel(kernel), kernel.type, microseconds


def _read_kernel(table: KernelTable, names: tuple[str, ...], codes: list[int]) -> Kernel | None:
    """Return the kernel of these texts, None where it has no shapes or they cannot be read."""
    cells = {name: table.texts[name].texts[code] for name, code in zip(names, codes)}
    if not cells["type"] or not (cells["input_shapes"] or cells["output_shapes"]):
        return None
    try:
        inputs, outputs = _read_shapes(cells["input_shapes"]), _read_shapes(cells["output_shapes"])
    except ValueError:
        return None
    types, output_types = _split(cells["input_types"]), _split(cells["output_types"])
    formats = _split(cells.get("formats", ""))
    return Kernel(cells["type"], inputs or ((),) * len(types), types, outputs, output_types, formats)


def _read_shapes(cell: str) -> tuple[Shape, ...]:
    text = cell.strip('"')
    return tuple(tuple(int(size) for size in shape.split(",") if size.strip()) for shape in text.split(";") if text)


def _split(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(";")) if cell else ()
