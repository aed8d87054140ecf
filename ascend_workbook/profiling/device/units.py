"""Which unit of an NPU the kernels ran on (cube, vector, both, AI CPU), and what held them up there.

A kernel is bound by computing where the unit's arithmetic is busy for at least BUSY of its time, by memory where
reading or writing is, and by neither where both wait: small kernels, scalar work, too few blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.readers.tables import KernelTable
from ascend_workbook.profiling.trace import Trace

Mask = npt.NDArray[np.bool_]
BUSY = 0.8
#: Our name of a unit -> what the profilers call it, in the order of the report
_KINDS = {
    "cube": ("AI_CORE", "AI_CUBE_CORE", "KERNEL_AICORE", "AIC"),
    "vector": ("AI_VECTOR_CORE", "KERNEL_AIVEC", "AIV"),
    "mixed": ("MIX_AIC", "MIX_AIV", "KERNEL_MIX_AIC", "KERNEL_MIX_AIV"),
    "ai_cpu": ("AI_CPU", "KERNEL_AICPU"),
    "dsa": ("DSA_SQE",),
}
UNITS = {name: unit for unit, names in _KINDS.items() for name in names}
METRICS = ("mac", "vector", "cube_read", "vector_read", "vector_write")


@dataclass(frozen=True)
class Unit:
    """The kernels of one unit: how many, how long; of that time (0 to 1) bound by computing, by memory, by neither;
    None where the profile has no such metrics. `cube_utilisation` in percent, weighted by time."""

    name: str
    kernels: int
    ns: int
    by_computing: float | None = None
    by_memory: float | None = None
    by_neither: float | None = None
    cube_utilisation: float | None = None


def units_of_table(table: KernelTable) -> list[Unit]:
    """Return the units by kernel_details.csv; empty where it names no unit (Level0)."""
    if not table.has_columns("unit"):
        return []
    type_names, code = table.texts["unit"]
    ours, masks, units = [UNITS.get(name, "other") if name else "" for name in type_names], bound_masks(table), []
    for name in _order_units(ours):
        where = _mask_of_name(name, ours)[code]
        total = table.total_ns(where)
        shares: tuple[float | None, float | None, float | None] = (None, None, None)
        if masks is not None and total and name in ("cube", "vector", "mixed"):
            computing, memory = table.total_ns(where & masks[0]) / total, table.total_ns(where & masks[1]) / total
            shares = (computing, memory, max(0.0, 1 - computing - memory))
        units.append(Unit(name, int(where.sum()), total, *shares, _cube_utilisation(table, name, where)))
    return units


def units_of_trace(trace: Trace) -> list[Unit]:
    """Return the units by the timeline's Task Type, which older versions call AI_CORE for the vector unit too."""
    rows = trace.where(("compute",))
    ours = {**UNITS, "AI_CORE": "core", "KERNEL_AICORE": "core"}
    names = [ours.get(unit_name, "other") if unit_name else "" for unit_name in trace.engines]
    engine, durations = trace.engine[rows], trace.duration_ns[rows]
    masks = {name: _mask_of_name(name, names)[engine] for name in _order_units(names) if name}
    return [Unit(name, int(mask.sum()), int(durations[mask].sum())) for name, mask in masks.items() if mask.any()]


def bound_masks(table: KernelTable) -> tuple[Mask, Mask] | None:
    """Return masks (n,) of the kernels bound by computing and by memory; None where the table has no such metrics."""
    known = {name: np.nan_to_num(table.numbers[name]) for name in METRICS if name in table.numbers}
    if not any(column.any() for column in known.values()):
        return None
    computing = _any_busy(table, known, ("mac", "vector"))
    return computing, ~computing & _any_busy(table, known, ("cube_read", "vector_read", "vector_write"))


def _any_busy(table: KernelTable, known: dict[str, npt.NDArray[np.float64]], names: tuple[str, ...]) -> Mask:
    """Return the mask of the kernels in which one of these metrics is at least BUSY."""
    busy = np.zeros(len(table), np.bool_)
    for name in names:
        if name in known:
            busy |= known[name] >= BUSY
    return busy


def _cube_utilisation(table: KernelTable, name: str, where: Mask) -> float | None:
    """Return the cube unit's utilisation in percent, weighted by time; None where the table does not tell it."""
    column = table.numbers.get("cube_utilisation")
    if column is None or name not in ("cube", "mixed"):
        return None
    weight = np.where(where & (np.nan_to_num(column) > 0), table.numbers["duration_us"], 0.0)
    return float((np.nan_to_num(column) * weight).sum() / weight.sum()) if weight.sum() else None


def _mask_of_name(name: str, ours: Sequence[str]) -> Mask:
    return np.array([unit_name == name for unit_name in ours], np.bool_)


def _order_units(names: Collection[str]) -> list[str]:
    """Return these units in the order of the report."""
    return [name for name in ("core", *dict.fromkeys(UNITS.values()), "other", "") if name in names]
