"""On which chip a profile was taken, by its name or by what its kernels tell: how many cubes, at which clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_workbook.estimates.chips import Chip, find_chip, known_chips
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers.tables import KernelTable

#: Units that have cubes, and those that are vector cores alone
CUBES = ("AI_CORE", "AI_CUBE_CORE", "MIX_AIC", "KERNEL_AICORE", "KERNEL_MIX_AIC")
VECTORS = ("AI_VECTOR_CORE", "MIX_AIV", "KERNEL_AIVEC", "KERNEL_MIX_AIV")
#: A clock within this share of a chip's is that chip's
CLOCK = 0.015


@dataclass(frozen=True)
class Found:
    """The chip, and whether the profile names it; else `alike` are all that have its cubes and clock."""

    chip: Chip
    named: bool
    alike: tuple[str, ...] = ()


def clocks_mhz(table: KernelTable) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the clock at which each kernel's cubes ran, NaN where it is not told: cycles of all cores over the time of
    one and how many there were."""
    numbers = table.numbers
    unknown = np.full(len(table), np.nan)
    if not {"cycles", "core_us", "blocks"} <= numbers.keys():
        return unknown
    cycles, core_us, blocks = numbers["cycles"], numbers["core_us"], numbers["blocks"]
    known = (np.nan_to_num(cycles) > 0) & (np.nan_to_num(core_us) > 0) & (np.nan_to_num(blocks) > 0)
    unknown[known] = cycles[known] / core_us[known] / blocks[known]
    return unknown


def count_cubes(table: KernelTable) -> int:
    """Return how many cubes the chip has, 0 where it is not told: the table's utilisation is cycles over what all of
    them could have run."""
    utilisation = table.numbers.get("cube_utilisation")
    clocks = clocks_mhz(table)
    if utilisation is not None:
        known = (np.nan_to_num(utilisation) > 0) & ~np.isnan(clocks)
        if known.any():
            could = table.numbers["duration_us"][known] * np.median(clocks[known]) * utilisation[known] / 100
            return round(float(np.median(table.numbers["cycles"][known] / could)))
    return 0


def count_most_blocks(table: KernelTable, units: tuple[str, ...]) -> int:
    """Return the most cores of these units that any kernel was given, as far as a chip has them."""
    blocks = table.numbers.get("blocks")
    if blocks is None:
        return 0
    most = max(chip.vector_cores for chip in known_chips())
    possible = blocks[table.mask_where("unit", units.__contains__) & (np.nan_to_num(blocks) <= most)]
    return int(np.nanmax(possible)) if possible.size and not np.isnan(possible).all() else 0


def find_chip_of(table: KernelTable, name: str = "") -> Found | None:
    """Return the chip, None where the profile does not tell it."""
    try:
        return Found(find_chip(name), True)
    except WorkbookError:
        pass
    clocks = clocks_mhz(table)
    if np.isnan(clocks).all():
        return None
    clock = float(np.nanmax(np.round(clocks, 0)))
    cubes = count_cubes(table)
    alike = [chip for chip in known_chips() if abs(clock / 1000 / chip.clock_ghz - 1) <= CLOCK]
    if cubes:
        alike = [chip for chip in alike if chip.cube_cores == cubes]
    else:
        used, vectors = count_most_blocks(table, CUBES), count_most_blocks(table, VECTORS)
        alike = [chip for chip in alike if chip.cube_cores >= used and chip.vector_cores >= vectors]
        alike = sorted(alike, key=lambda chip: chip.cube_cores)
        alike = [chip for chip in alike if chip.cube_cores == alike[0].cube_cores]
    return Found(alike[0], False, tuple(chip.name for chip in alike)) if alike else None
