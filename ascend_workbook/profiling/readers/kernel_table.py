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

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers.cells import ABSENT, F64, Cells, Mask
from ascend_workbook.profiling.readers.csv_files import open_table
from ascend_workbook.profiling.readers.sheet import Piece, read_sheet
from ascend_workbook.profiling.readers.tables import KERNELS
from ascend_workbook.profiling.readers.types import format_dtypes
from ascend_workbook.profiling.trace import Texts

#: Ours -> the headings that mean it, newest first
TEXTS = {
    "name": ("Name",),
    "type": ("Type", "OP Type"),
    "unit": ("Accelerator Core", "Core Type"),
    "hf32": ("HF32 Eligible",),
    "inputs": ("Input Data Types",),
}
NUMBERS = {
    "duration_us": ("Duration(us)",),
    "mac": ("aic_mac_ratio", "mac_ratio"),
    "cube_read": ("aic_mte2_ratio", "mte2_ratio"),
    "vector": ("aiv_vec_ratio", "vec_ratio"),
    "vector_read": ("aiv_mte2_ratio",),
    "vector_write": ("aiv_mte3_ratio", "mte3_ratio"),
    "cube_utilisation": ("cube_utilization(%)",),
}
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

    def has_columns(self, *names: str) -> bool:
        """Return whether the columns are there and say something."""
        return all(
            any(self.texts[name].texts) if name in self.texts else not np.isnan(self.numbers.get(name, nan)).all()
            for name in names
        )

    def total_ns(self, where: Mask | None = None) -> int:
        """Return what the kernels take together, in nanoseconds."""
        durations = self.numbers["duration_us"]
        return round(float(np.nansum(durations if where is None else durations[where])) * 1000)

    def mask_where(self, column: str, wanted: Callable[[str], bool]) -> Mask:
        """Return a mask (n,) of the kernels whose text in this column is wanted: of none where the column is absent."""
        if column not in self.texts:
            return np.zeros(len(self), np.bool_)
        texts, code = self.texts[column]
        return np.array([wanted(text) for text in texts], np.bool_)[code]

    def distinct_texts(self, column: str, where: Mask) -> list[str]:
        """Return what the column says of these kernels, each text once, in order."""
        texts, code = self.texts[column]
        return sorted(texts[at] for at in np.unique(code[where]).tolist())

    def is_type(self, *types: str) -> Mask:
        """Return a mask (n,) of the kernels of these types, or whose type begins with one that ends in `*`."""
        whole = {text for text in types if not text.endswith("*")}
        begins = tuple(text[:-1] for text in types if text.endswith("*"))
        return self.mask_where("type", lambda text: text in whole or text.startswith(begins))


def read_kernel_table(folder: Path) -> KernelTable | None:
    """Return the table of the profile's output folder, or None where there is none or no kernel in it.

    Raises WorkbookError, naming the file, where it cannot be read.
    """
    path = folder / KERNELS
    if not path.is_file():
        return None
    with open_table(path) as file:
        head, pieces = read_sheet(file)
        unusable = _Unusable()
        table = _read_table(path, head, pieces, unusable)
    if "Duration(us)" not in head:
        raise WorkbookError("profiling.no_column", path=str(path), columns=["Duration(us)"])
    if table is None and unusable.rows:
        raise WorkbookError("profiling.bad_rows", path=str(path), rows=unusable.rows, line=unusable.line)
    return table


class _Unusable:
    """What could not be used so far: rows with another number of cells than the heading, cells that are no numbers."""

    def __init__(self) -> None:
        self.rows, self.cells, self.line, self.cell = 0, 0, 0, ""

    def find_fitting_rows(self, piece: Piece) -> Mask:
        """Return the rows (n,) that fit the heading."""
        self.rows += len(piece.ragged)
        self.line = self.line or next(iter(piece.ragged.values()), 0)
        return ~np.isin(np.arange(piece.first, piece.first + len(piece)), list(piece.ragged))

    def parse_odd_number(self, cell: str, _row: int) -> float:
        """Return the value of a cell that is not written as numbers usually are."""
        try:
            value = float(cell)
        except ValueError:
            value = nan
        if isfinite(value):
            return value
        self.cells += 1
        self.cell = self.cell or cell
        return nan


def _read_table(path: Path, head: list[str], pieces: Iterator[Piece], unusable: _Unusable) -> KernelTable | None:
    """Return the table without collectives; None where no kernel is left."""
    places = {
        column: at
        for column, headings in (TEXTS | NUMBERS).items()
        if (at := _find_heading(head, headings)) is not None
    }
    texts: dict[str, list[Texts]] = {column: [] for column in TEXTS if column in places}
    numbers: dict[str, list[F64]] = {column: [] for column in NUMBERS if column in places}
    for piece in pieces:
        columns = {column: piece.column_cells(at) for column, at in places.items()}
        is_kernel = unusable.find_fitting_rows(piece) & ~_mask_collectives(columns)
        for column, parts in texts.items():
            parts.append(_clean_texts(columns[column].select_cells(is_kernel).to_texts(), types=column == "inputs"))
        for column, values in numbers.items():
            values.append(columns[column].select_cells(is_kernel).to_numbers(unusable.parse_odd_number))
    if not any(column.size for values in numbers.values() for column in values):
        return None
    joined_texts = {column: Texts.join_columns(parts) for column, parts in texts.items()}
    joined = {column: np.concatenate(values) for column, values in numbers.items()}
    return KernelTable(path, joined_texts, joined, unusable.rows, unusable.line, unusable.cells, unusable.cell)


def _clean_texts(cells: Texts, types: bool) -> Texts:
    texts = ["" if text in ABSENT else text for text in cells.texts]
    return cells._replace(texts=[format_dtypes(text) for text in texts] if types else texts)


def _mask_collectives(columns: dict[str, Cells]) -> Mask:
    mask = np.zeros(next((column.begins.size for column in columns.values()), 0), np.bool_)
    if "unit" in columns:
        mask |= columns["unit"].equals_any(*COLLECTIVE)
    if "name" in columns:
        mask |= columns["name"].starts_with(b"hcom")
    return mask


def _find_heading(head: Sequence[str], names: Sequence[str]) -> int | None:
    return next((head.index(name) for name in names if name in head), None)
