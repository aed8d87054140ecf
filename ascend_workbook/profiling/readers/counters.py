"""What the device's counters tell beside its tasks: its clock, the bandwidth of its memory, hits of its cache.

A database has them as tables, in bytes a second and percent; trace_view.json as counter events, in MB/s and shares."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.database import columns_of, open_database
from ascend_workbook.profiling.readers.tables import F64
from ascend_workbook.profiling.trace import Sample

#: As torch_npu names a part of memory, a part of the cache
BANDWIDTH, HIT_RATE = re.compile(r"HBM \d+/(Read|Write)"), re.compile(r"LLC \d+ Read/Hit Rate")


@dataclass(frozen=True)
class Curve:
    """A counter: its value from each moment on, in order of time."""

    at_ns: I64
    values: F64

    def __len__(self) -> int:
        return int(self.at_ns.size)

    def mean_within(self, begin_ns: int, end_ns: int) -> float:
        """Return the mean over a stretch of time, by how long each value holds."""
        borders = np.clip(np.append(self.at_ns, max(end_ns, int(self.at_ns[-1]))), begin_ns, end_ns)
        borders[0] = begin_ns  # what it was before the first is not told: as at the first
        weights = np.diff(borders)
        return float((self.values * weights).sum() / weights.sum()) if weights.sum() > 0 else float(self.values[0])


@dataclass(frozen=True)
class Counters:
    """Curves by what they count: `frequency_mhz`, `read_gb_s`, `write_gb_s`, `hit_percent`; what was not recorded is
    absent."""

    curves: dict[str, Curve]


def read_database_counters(path: Path) -> Counters:
    """Return the counters of a database. Raises WorkbookError, naming the file, where it cannot be read."""
    with open_database(path) as database:
        samples = {"frequency_mhz": _select(database, "AICORE_FREQ", "freq", 1.0)}
        for ours, direction in (("read_gb_s", "read"), ("write_gb_s", "write")):
            samples[ours] = _select(database, "HBM", "bandwidth", 1e-9, direction)
        hits = _select(database, "LLC", "hitRate", 1.0, "read")
    return _collect({ours: _sum_alike(rows) for ours, rows in samples.items()} | {"hit_percent": _mean_alike(hits)})


def _select(
    database: sqlite3.Connection, table: str, column: str, scale: float, kind: str = ""
) -> list[tuple[int, float]]:
    """Return moment and value of a table's rows, those of one kind only where it is named."""
    there = columns_of(database, table)
    if not {"timestampNs", column} <= there:
        return []
    kinds = {"HBM": "type", "LLC": "mode"}
    of_kind = kind and kinds[table] in there
    join = f" JOIN STRING_IDS n ON n.id = t.{kinds[table]} WHERE n.value = '{kind}' AND" if of_kind else " WHERE"
    numbers = f"typeof(t.timestampNs) IN ('integer', 'real') AND typeof(t.{column}) IN ('integer', 'real')"
    rows = database.execute(f"SELECT t.timestampNs, t.{column} FROM {table} t{join} {numbers}").fetchall()
    return [(int(moment), float(value) * scale) for moment, value in rows]


def collect_counters(samples: Iterable[Sample]) -> Counters:
    """Return the counters of a trace_view.json's samples, by the names that torch_npu gives them."""
    rows: dict[str, list[tuple[int, float]]] = {ours: [] for ours in ("frequency_mhz", "read_gb_s", "write_gb_s")}
    hits: list[tuple[int, float]] = []
    for name, at_ns, value in samples:
        if name == "AI Core Freq":
            rows["frequency_mhz"].append((at_ns, value))
        elif HIT_RATE.fullmatch(name):
            hits.append((at_ns, 100 * value))
        elif direction := BANDWIDTH.fullmatch(name):
            rows["read_gb_s" if direction[1] == "Read" else "write_gb_s"].append((at_ns, value / 1000))
    return _collect({ours: _sum_alike(some) for ours, some in rows.items()} | {"hit_percent": _mean_alike(hits)})


def _sum_alike(rows: list[tuple[int, float]]) -> dict[int, float]:
    """Return the sum of what is told of each moment: memory has several parts."""
    sums: dict[int, float] = {}
    for moment, value in rows:
        sums[moment] = sums.get(moment, 0.0) + value
    return sums


def _mean_alike(rows: list[tuple[int, float]]) -> dict[int, float]:
    sums, counts = _sum_alike(rows), _sum_alike([(moment, 1.0) for moment, _ in rows])
    return {moment: value / counts[moment] for moment, value in sums.items()}


def _collect(values_at: dict[str, dict[int, float]]) -> Counters:
    curves = {}
    for name, by_moment in values_at.items():
        if by_moment:
            moments = sorted(by_moment)
            curves[name] = Curve(np.array(moments, np.int64), np.array([by_moment[at] for at in moments], np.float64))
    return Counters(curves)
