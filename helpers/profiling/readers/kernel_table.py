"""kernel_details.csv as columns: what CANN measured of each kernel, with old and new headings.

At Level0 there is no type and no unit; what the unit did (PipeUtilization and the other metrics) comes from Level1 on,
with `aic_metrics` set. https://www.hiascend.com/document (Ascend PyTorch Profiler, kernel_details.csv)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import isfinite, nan
from operator import itemgetter
from pathlib import Path
from typing import Callable

import numpy as np
import numpy.typing as npt

from helpers.errors import WorkbookError
from helpers.profiling.readers.csv_files import opened
from helpers.profiling.readers.tables import ABSENT, KERNELS
from helpers.profiling.readers.types import dtypes
from helpers.profiling.trace import Texts

F64 = npt.NDArray[np.float64]
#: Ours -> the headings that mean it, newest first
TEXTS = {
    "name": ("Name",), "type": ("Type", "OP Type"), "unit": ("Accelerator Core", "Core Type"), "state": ("OP State",),
    "hf32": ("HF32 Eligible",), "inputs": ("Input Data Types",), "formats": ("Input Formats",),
    "output_formats": ("Output Formats",), "outputs": ("Output Data Types",), "shapes": ("Input Shapes",),
}  # fmt: skip
NUMBERS = {
    "duration_us": ("Duration(us)",), "wait_us": ("Wait Time(us)",), "blocks": ("Block Num", "Block Dim"),
    "cube_time_us": ("aicore_time(us)", "aic_time(us)"), "vector_time_us": ("aiv_time(us)",),
    "mac": ("aic_mac_ratio", "mac_ratio"), "cube_read": ("aic_mte2_ratio", "mte2_ratio"),
    "vector": ("aiv_vec_ratio", "vec_ratio"), "vector_read": ("aiv_mte2_ratio",),
    "vector_write": ("aiv_mte3_ratio", "mte3_ratio"), "cube_utilisation": ("cube_utilization(%)",),
}  # fmt: skip
#: Rows whose cells are held as texts at once
PIECE = 20_000


@dataclass(frozen=True)
class KernelTable:
    """Columns (n,) of the kernels without collectives, in the file's order. `texts` are empty and `numbers` NaN where
    the file says N/A; a column that it lacks is absent. Ratios are 0 to 1, the utilisation is in percent.
    `bad_rows`: how many rows were left out since they have another number of cells than the heading, the first in line
    `bad_line`; `bad_cells`: how many cells are NaN since they are no numbers, `bad_cell` the first."""

    path: Path
    texts: dict[str, list[str]]
    numbers: dict[str, F64]
    bad_rows: int = 0
    bad_line: int = 0
    bad_cells: int = 0
    bad_cell: str = ""

    def __len__(self) -> int:
        return int(self.numbers["duration_us"].size)

    def has(self, *names: str) -> bool:
        """Whether the columns are there and say something."""
        return all(any(self.texts.get(one, ())) or not np.isnan(self.numbers.get(one, np.array([np.nan]))).all()
                   for one in names)  # fmt: skip

    def ns(self, where: npt.NDArray[np.bool_] | None = None) -> int:
        """What the kernels take together, nanoseconds."""
        durations = self.numbers["duration_us"]
        return round(float(np.nansum(durations if where is None else durations[where])) * 1000)

    def is_type(self, *types: str) -> npt.NDArray[np.bool_]:
        """A mask (n,) of the kernels of these types, or whose type begins with one that ends in `*`."""
        whole = {one for one in types if not one.endswith("*")}
        begins = tuple(one[:-1] for one in types if one.endswith("*"))
        names, code = self._types
        found = [one in whole or (bool(begins) and one.startswith(begins)) for one in names]
        return np.array(found, np.bool_)[code] if found else np.zeros(len(self), np.bool_)

    @cached_property
    def _types(self) -> Texts:
        return Texts.of(self.texts.get("type", ()))


def kernel_table(folder: Path) -> KernelTable | None:
    """The table of the profile's output folder, or None where there is none or no kernel in it.

    Raises WorkbookError, naming the file, where it cannot be read.
    """
    path = folder / KERNELS
    if not path.is_file():
        return None
    with opened(path) as file:
        lines = csv.reader(file)
        head = [name.strip() for name in next(lines, [])]
        unusable = _Unusable()
        table = _read(path, head, unusable.whole(head, lines, lambda: lines.line_num), unusable)
    if "Duration(us)" not in head:
        raise WorkbookError("profiling.no_column", path=str(path), columns=["Duration(us)"])
    if table is None and unusable.rows:
        raise WorkbookError("profiling.bad_rows", path=str(path), rows=unusable.rows, line=unusable.line)
    return table


class _Unusable:
    """What could not be used so far: rows with another number of cells than the heading, cells that are no numbers."""

    def __init__(self) -> None:
        self.rows, self.cells, self.line, self.cell = 0, 0, 0, ""

    def whole(self, head: list[str], lines: Iterator[list[str]], line: Callable[[], int]) -> Iterator[list[str]]:
        """The rows that fit the heading."""
        for row in lines:
            if len(row) == len(head):
                yield row
            elif row:
                self.rows += 1
                self.line = self.line or line()


def _read(path: Path, head: list[str], rows: Iterator[list[str]], unusable: _Unusable) -> KernelTable | None:
    """Without collectives; None where no kernel is left. Of the cells no more are held at once than of PIECE rows."""
    places = {ours: at for ours, theirs in (TEXTS | NUMBERS).items() if (at := _at(head, theirs)) is not None}
    unit, name = places.get("unit", -1), places.get("name", -1)
    used = itemgetter(*places.values(), -1)  # the last cell stands for what is not there
    ends = (row + [""] for row in rows)
    cells = (used(row) for row in ends if not _collective(row[unit], row[name]))
    texts: dict[str, list[str]] = {ours: [] for ours in TEXTS if ours in places}
    numbers: dict[str, list[F64]] = {ours: [] for ours in NUMBERS if ours in places}
    known: dict[str, dict[str, str]] = {ours: {} for ours in texts}
    while piece := list(islice(cells, PIECE)):
        columns = dict(zip(places, zip(*piece)))
        for ours, column in texts.items():
            column += _texts(columns[ours], ours in ("inputs", "outputs"), known[ours])
        for ours, found in numbers.items():
            found.append(_numbers(columns[ours], unusable))
    if not any(numbers.values()):
        return None
    joined = {ours: np.concatenate(pieces) for ours, pieces in numbers.items()}
    return KernelTable(path, texts, joined, unusable.rows, unusable.line, unusable.cells, unusable.cell)


def _texts(cells: Sequence[str], types: bool, known: dict[str, str]) -> list[str]:
    for cell in set(cells) - known.keys():
        text = "" if cell.strip() in ABSENT else cell.strip()
        known[cell] = dtypes(text) if types else text
    return [*map(known.__getitem__, cells)]


def _collective(unit: str, name: str) -> bool:
    return unit in ("HCCL", "COMMUNICATION") or name.startswith("hcom")


def _at(head: Sequence[str], names: Sequence[str]) -> int | None:
    return next((head.index(name) for name in names if name in head), None)


def _numbers(cells: Sequence[str], unusable: _Unusable) -> F64:
    try:
        absent = 0 if ABSENT.isdisjoint(cells) else sum(cell in ABSENT for cell in cells)
        found = np.fromiter((nan if cell in ABSENT else float(cell) for cell in cells) if absent else map(float, cells),
                            np.float64, len(cells))  # fmt: skip
        if int(np.isfinite(found).sum()) == len(cells) - absent:
            return found
    except ValueError:
        pass  # each cell by itself tells which ones they are
    return np.array([_number(cell.strip(), unusable) for cell in cells])


def _number(cell: str, unusable: _Unusable) -> float:
    if cell in ABSENT:
        return nan
    try:
        value = float(cell)
    except ValueError:
        value = nan
    if isfinite(value):
        return value
    unusable.cells += 1
    unusable.cell = unusable.cell or cell
    return nan
