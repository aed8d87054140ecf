"""Threads that fight for the host's cores: calls that are alike take many times what they do, and do so while other
threads are at work."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.causes.marks import BIT, mark_names
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.trace import Trace

#: Calls that are alike: so many at least; of these the slow ones take so many times the median, and so long
MANY_ALIKE, SLOW, SLOW_NS = 20, 4, 50_000
#: How much of the slow calls others are at work beside, at least, and of the quick ones, at most
CROWDED, ALONE = 0.8, 0.5
#: Calls that may take long for another reason: they wait, copy, reserve memory or load
EXCUSED = (
    "start_up",
    "allocation",
    "lazy_loading",
    "launch",
    "fallback",
    "item",
    "copy",
    "wait",
    "elsewhere",
    "loading",
)
Rows = npt.NDArray[np.int64]


class Contended(NamedTuple):
    """Slow calls: their rows, and what each takes more than its like usually do: (n,) each."""

    rows: Rows
    lost_ns: I64


def find_contended(trace: Trace) -> Contended:
    """Find the operators that are slow while other threads are at work, where others of their name and shapes are not
    slow, and mostly alone."""
    none = Contended(np.empty(0, np.int64), np.empty(0, np.int64))
    hosts = np.flatnonzero(trace.where(("host_op", "runtime")) & (trace.duration_ns > 0) & (trace.step >= 0))
    lanes = np.unique(trace.lane[hosts])
    if lanes.size < 2:
        return none
    threads = nest_by_lane(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts).values()
    rows = np.concatenate([thread.rows for thread in threads])
    own = np.concatenate([np.maximum(thread.self_ns(), 0) for thread in threads])
    excused = sum(BIT[mark] for mark in EXCUSED)
    is_plain = trace.where(("host_op",))[rows] & (mark_names(trace.names)[trace.name[rows]] & excused == 0)
    rows, own = rows[is_plain], own[is_plain]
    if rows.size < MANY_ALIKE:
        return none
    crowd = _measure_crowd(trace, rows, lanes)
    alike = trace.name[rows].astype(np.int64) * len(trace.shapes) + trace.shape[rows]
    order = np.argsort(alike, kind="stable")
    found_rows, found_lost = [], []
    for part in np.split(order, np.flatnonzero(np.diff(alike[order])) + 1):
        if part.size < MANY_ALIKE:
            continue
        usual = float(np.median(own[part]))
        is_slow = own[part] >= max(SLOW * usual, SLOW_NS)
        slow, quick = part[is_slow], part[~is_slow]
        if not slow.size or 2 * slow.size > part.size:
            continue
        if np.average(crowd[slow], weights=own[slow]) >= CROWDED and float(np.mean(crowd[quick])) <= ALONE:
            found_rows.append(rows[slow])
            found_lost.append((own[slow] - usual).astype(np.int64))
    return Contended(np.concatenate(found_rows), np.concatenate(found_lost)) if found_rows else none


def _measure_crowd(trace: Trace, rows: Rows, lanes: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    """Return which part of each operator's time another thread is at work, and does not only wait."""
    waits = sum(BIT[mark] for mark in ("wait", "elsewhere"))
    at_work = trace.where(("host_op", "runtime")) & (trace.step >= 0)
    at_work &= mark_names(trace.names)[trace.name] & waits == 0
    part = np.zeros(rows.size)
    for lane in lanes.tolist():
        mine = trace.lane[rows] == lane
        others = trace.intervals_of(at_work & (trace.lane != lane))
        start, lasts = trace.start_ns[rows[mine]], trace.duration_ns[rows[mine]]
        part[mine] = (others.before_ns(start + lasts) - others.before_ns(start)) / lasts
    return part
