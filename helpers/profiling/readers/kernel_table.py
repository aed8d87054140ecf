"""kernel_details.csv as columns: what CANN measured of each kernel, with old and new headings.

At Level0 there is no type and no unit; what the unit did (PipeUtilization and the other metrics) comes from Level1 on,
with `aic_metrics` set. https://www.hiascend.com/document (Ascend PyTorch Profiler, kernel_details.csv)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

import numpy as np

from helpers.errors import WorkbookError
from helpers.profiling.readers.cells import ABSENT, F64, Cells, Mask
from helpers.profiling.readers.csv_files import opened
from helpers.profiling.readers.sheet import Piece, sheet
from helpers.profiling.readers.tables import KERNELS
from helpers.profiling.readers.types import dtypes
from helpers.profiling.trace import Texts

#: Ours -> the headings that mean it, newest first
TEXTS = {
    "name": ("Name",), "type": ("Type", "OP Type"), "unit": ("Accelerator Core", "Core Type"),
    "hf32": ("HF32 Eligible",), "inputs": ("Input Data Types",),
}  # fmt: skip
NUMBERS = {
    "duration_us": ("Duration(us)",), "mac": ("aic_mac_ratio", "mac_ratio"),
    "cube_read": ("aic_mte2_ratio", "mte2_ratio"),
    "vector": ("aiv_vec_ratio", "vec_ratio"), "vector_read": ("aiv_mte2_ratio",),
    "vector_write": ("aiv_mte3_ratio", "mte3_ratio"), "cube_utilisation": ("cube_utilization(%)",),
}  # fmt: skip
#: What a unit is called that runs collectives
COLLECTIVE = ("HCCL", "COMMUNICATION")


@dataclass(frozen=True)
class KernelTable:
    """Columns (n,) of the kernels without collectives, in the file's order. `texts` are empty and `numbers` NaN where
    the file says N/A; a column that it lacks is absent. Ratios are 0 to 1, the utilisation is in percent.
    `bad_rows`: how many rows were left out since they have another number of cells than the heading, the first in line
    `bad_line`; `bad_cells`: how many cells are NaN since they are no numbers, `bad_cell` the first."""

    path: Path
    texts: dict[str, Texts]
    numbers: dict[str, F64]
    bad_rows: int = 0
    bad_line: int = 0
    bad_cells: int = 0
    bad_cell: str = ""

    def __len__(self) -> int:
        return int(self.numbers["duration_us"].size)

    def has(self, *names: str) -> bool:
        """Whether the columns are there and say something."""
        return all(any(self.texts[one].texts) if one in self.texts else not np.isnan(self.numbers.get(one, nan)).all()
                   for one in names)  # fmt: skip

    def ns(self, where: Mask | None = None) -> int:
        """What the kernels take together, nanoseconds."""
        durations = self.numbers["duration_us"]
        return round(float(np.nansum(durations if where is None else durations[where])) * 1000)

    def where(self, column: str, wanted: Callable[[str], bool]) -> Mask:
        """A mask (n,) of the kernels whose text in this column is wanted: of none where the column is absent."""
        if column not in self.texts:
            return np.zeros(len(self), np.bool_)
        told, code = self.texts[column]
        return np.array([wanted(text) for text in told], np.bool_)[code]

    def said(self, column: str, where: Mask) -> list[str]:
        """What the column says of these kernels, each text once, in order."""
        told, code = self.texts[column]
        return sorted(told[at] for at in np.unique(code[where]).tolist())

    def is_type(self, *types: str) -> Mask:
        """A mask (n,) of the kernels of these types, or whose type begins with one that ends in `*`."""
        whole = {one for one in types if not one.endswith("*")}
        begins = tuple(one[:-1] for one in types if one.endswith("*"))
        return self.where("type", lambda one: one in whole or one.startswith(begins))


def kernel_table(folder: Path) -> KernelTable | None:
    """The table of the profile's output folder, or None where there is none or no kernel in it.

    Raises WorkbookError, naming the file, where it cannot be read.
    """
    path = folder / KERNELS
    if not path.is_file():
        return None
    with opened(path) as file:
        head, pieces = sheet(file)
        unusable = _Unusable()
        table = _read(path, head, pieces, unusable)
    if "Duration(us)" not in head:
        raise WorkbookError("profiling.no_column", path=str(path), columns=["Duration(us)"])
    if table is None and unusable.rows:
        raise WorkbookError("profiling.bad_rows", path=str(path), rows=unusable.rows, line=unusable.line)
    return table


class _Unusable:
    """What could not be used so far: rows with another number of cells than the heading, cells that are no numbers."""

    def __init__(self) -> None:
        self.rows, self.cells, self.line, self.cell = 0, 0, 0, ""

    def whole(self, piece: Piece) -> Mask:
        """The rows (n,) that fit the heading."""
        self.rows += len(piece.ragged)
        self.line = self.line or next(iter(piece.ragged.values()), 0)
        return ~np.isin(np.arange(piece.first, piece.first + len(piece)), list(piece.ragged))

    def number(self, cell: str, _row: int) -> float:
        """A cell that is not as numbers are written usually."""
        try:
            value = float(cell)
        except ValueError:
            value = nan
        if isfinite(value):
            return value
        self.cells += 1
        self.cell = self.cell or cell
        return nan


def _read(path: Path, head: list[str], pieces: Iterator[Piece], unusable: _Unusable) -> KernelTable | None:
    """Without collectives; None where no kernel is left."""
    places = {ours: at for ours, theirs in (TEXTS | NUMBERS).items() if (at := _at(head, theirs)) is not None}
    texts: dict[str, list[Texts]] = {ours: [] for ours in TEXTS if ours in places}
    numbers: dict[str, list[F64]] = {ours: [] for ours in NUMBERS if ours in places}
    for piece in pieces:
        columns = {ours: piece.column(at) for ours, at in places.items()}
        kept = unusable.whole(piece) & ~_collective(columns)
        for ours, found in texts.items():
            found.append(_texts(columns[ours].where(kept).texts(), types=ours == "inputs"))
        for ours, values in numbers.items():
            values.append(columns[ours].where(kept).numbers(unusable.number))
    if not any(column.size for values in numbers.values() for column in values):
        return None
    told = {ours: Texts.joined(found) for ours, found in texts.items()}
    joined = {ours: np.concatenate(values) for ours, values in numbers.items()}
    return KernelTable(path, told, joined, unusable.rows, unusable.line, unusable.cells, unusable.cell)


def _texts(cells: Texts, types: bool) -> Texts:
    told = ["" if text in ABSENT else text for text in cells.texts]
    return cells._replace(texts=[dtypes(text) for text in told] if types else told)


def _collective(columns: dict[str, Cells]) -> Mask:
    found = np.zeros(next((column.begins.size for column in columns.values()), 0), np.bool_)
    if "unit" in columns:
        found |= columns["unit"].equal(*COLLECTIVE)
    if "name" in columns:
        found |= columns["name"].begin(b"hcom")
    return found


def _at(head: Sequence[str], names: Sequence[str]) -> int | None:
    return next((head.index(name) for name in names if name in head), None)

