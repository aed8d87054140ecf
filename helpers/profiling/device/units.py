"""Which unit of an NPU the kernels ran on (cube, vector, both, AI CPU), and what held them up there.

A kernel is bound by computing where the unit's arithmetic is busy for at least BUSY of its time, by memory where
reading or writing is, and by neither where both wait: small kernels, scalar work, too few blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from helpers.profiling.readers.kernel_table import KernelTable
from helpers.profiling.trace import Trace

Mask = npt.NDArray[np.bool_]
BUSY = 0.8
#: What the profilers call a unit -> ours, in the order of the report
UNITS = {
    "AI_CORE": "cube", "AI_CUBE_CORE": "cube", "KERNEL_AICORE": "cube", "AIC": "cube", "AI_VECTOR_CORE": "vector",
    "KERNEL_AIVEC": "vector", "AIV": "vector", "MIX_AIC": "mixed", "MIX_AIV": "mixed", "KERNEL_MIX_AIC": "mixed",
    "KERNEL_MIX_AIV": "mixed", "AI_CPU": "ai_cpu", "KERNEL_AICPU": "ai_cpu", "DSA_SQE": "dsa",
}  # fmt: skip
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
    """By kernel_details.csv; empty where it names no unit (Level0)."""
    if not table.has("unit"):
        return []
    told, code = table.texts["unit"]
    ours = [UNITS.get(name, "other") if name else "" for name in told]
    return [_unit(table, name, _is(name, ours)[code]) for name in _order(ours)]


def units_of_trace(trace: Trace) -> list[Unit]:
    """By the timeline's Task Type, which older versions call AI_CORE for the vector unit too."""
    rows = trace.where(("compute",))
    ours = {**UNITS, "AI_CORE": "core", "KERNEL_AICORE": "core"}
    names = [ours.get(one, "other") if one else "" for one in trace.engines]
    engine, durations = trace.engine[rows], trace.duration_ns[rows]
    masks = {name: _is(name, names)[engine] for name in _order(names) if name}
    return [Unit(name, int(of.sum()), int(durations[of].sum())) for name, of in masks.items() if of.any()]


def bounds(table: KernelTable) -> tuple[Mask, Mask] | None:
    """Masks (n,): bound by computing, bound by memory; None where the table has no such metrics."""
    known = {name: np.nan_to_num(table.numbers[name]) for name in METRICS if name in table.numbers}
    if not any(column.any() for column in known.values()):
        return None
    computing = _any_busy(table, known, ("mac", "vector"))
    return computing, ~computing & _any_busy(table, known, ("cube_read", "vector_read", "vector_write"))


def _any_busy(table: KernelTable, known: dict[str, npt.NDArray[np.float64]], names: tuple[str, ...]) -> Mask:
    busy = np.zeros(len(table), np.bool_)
    for name in names:
        if name in known:
            busy |= known[name] >= BUSY
    return busy


def _unit(table: KernelTable, name: str, where: Mask) -> Unit:
    total, found = table.ns(where), bounds(table)
    shares: tuple[float | None, float | None, float | None] = (None, None, None)
    if found is not None and total and name in ("cube", "vector", "mixed"):
        computing, memory = table.ns(where & found[0]) / total, table.ns(where & found[1]) / total
        shares = (computing, memory, max(0.0, 1 - computing - memory))
    return Unit(name, int(where.sum()), total, *shares, _cube(table, name, where))


def _cube(table: KernelTable, name: str, where: Mask) -> float | None:
    column = table.numbers.get("cube_utilisation")
    if column is None or name not in ("cube", "mixed"):
        return None
    weight = np.where(where & (np.nan_to_num(column) > 0), table.numbers["duration_us"], 0.0)
    return float((np.nan_to_num(column) * weight).sum() / weight.sum()) if weight.sum() else None


def _is(name: str, ours: Sequence[str]) -> Mask:
    return np.array([one == name for one in ours], np.bool_)


def _order(names: Collection[str]) -> list[str]:
    return [name for name in ("core", *dict.fromkeys(UNITS.values()), "other", "") if name in names]
