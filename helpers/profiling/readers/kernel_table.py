"""kernel_details.csv as columns: what CANN measured of each kernel, with old and new headings.

At Level0 there is no type and no unit; what the unit did (PipeUtilization and the other metrics) comes from Level1 on,
with `aic_metrics` set. https://www.hiascend.com/document (Ascend PyTorch Profiler, kernel_details.csv)
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from helpers.errors import WorkbookError
from helpers.profiling.readers.loading import uncollected
from helpers.profiling.readers.tables import KERNELS
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
ABSENT = frozenset(("", "N/A"))


@dataclass(frozen=True)
class KernelTable:
    """Columns (n,) of the kernels without collectives, in the file's order. `texts` are empty and `numbers` NaN where
    the file says N/A; a column that it lacks is absent. Ratios are 0 to 1, the utilisation is in percent."""

    path: Path
    texts: dict[str, list[str]]
    numbers: dict[str, F64]

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
    csv.field_size_limit(2**24)
    try:
        with uncollected(), path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file)
            head = [name.strip() for name in next(lines, [])]
            columns = _columns(head, lines)
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
    if "Duration(us)" not in head:
        raise WorkbookError("profiling.no_column", path=str(path), columns=["Duration(us)"])
    return _table(path, columns) if columns else None


def _columns(head: list[str], lines: Iterable[list[str]]) -> dict[str, Sequence[str]]:
    """Our columns' cells, without collectives; empty where no kernel is left. The others are never held."""
    places = {ours: at for ours, theirs in (TEXTS | NUMBERS).items() if (at := _at(head, theirs)) is not None}
    unit, name = places.get("unit", -1), places.get("name", -1)
    rows = (row + [""] for row in lines if len(row) == len(head))  # the last cell stands for what is not there
    used = itemgetter(*places.values(), -1)
    kept = [used(row) for row in rows if not _collective(row[unit], row[name])]
    return dict(zip(places, zip(*kept)))


def _table(path: Path, columns: dict[str, Sequence[str]]) -> KernelTable:
    texts = {ours: _texts(columns[ours], ours in ("inputs", "outputs")) for ours in TEXTS if ours in columns}
    numbers = {ours: _numbers(columns[ours]) for ours in NUMBERS if ours in columns}
    return KernelTable(path, texts, numbers)


def _texts(cells: Sequence[str], types: bool) -> list[str]:
    known = {cell: "" if cell.strip() in ABSENT else cell.strip() for cell in set(cells)}
    known = {cell: dtypes(text) for cell, text in known.items()} if types else known
    return [*map(known.__getitem__, cells)]


def _collective(unit: str, name: str) -> bool:
    return unit in ("HCCL", "COMMUNICATION") or name.startswith("hcom")


def _at(head: Sequence[str], names: Sequence[str]) -> int | None:
    return next((head.index(name) for name in names if name in head), None)


def _numbers(cells: Sequence[str]) -> F64:
    try:
        if ABSENT.isdisjoint(cells):
            return np.fromiter(map(float, cells), np.float64, len(cells))
        return np.array([nan if cell in ABSENT else float(cell) for cell in cells])
    except ValueError:
        return np.array([_number(cell) for cell in cells])


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return nan
