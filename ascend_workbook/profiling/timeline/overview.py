"""The whole trace in a strip a lane: how much of each of many equal parts of its time the lane is busy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import Intervals
from ascend_workbook.profiling.timeline.lanes import Lane, arrange_lanes
from ascend_workbook.profiling.trace import Trace, order_by_code

COLUMNS = 1200


@dataclass(frozen=True)
class Overview:
    """`busy` (lanes, columns): the share (0 to 1) of the column's time in which the lane has an event going on."""

    start_ns: int
    end_ns: int
    lanes: tuple[Lane, ...]
    busy: npt.NDArray[np.float64]


def make_overview(trace: Trace, columns: int = COLUMNS) -> Overview:
    """Make the strips of every lane but the marks of the steps."""
    start = int(trace.start_ns.min(initial=2**62))
    end = max(start + 1, int((trace.start_ns + trace.duration_ns).max(initial=0)))
    all_lanes, lane = arrange_lanes(trace)
    shown = [at for at, entry in enumerate(all_lanes) if entry.group != "steps"]
    order = order_by_code(lane)
    bounds = np.searchsorted(lane[order], np.arange(len(all_lanes) + 1))
    edges = np.linspace(start, end, columns + 1).astype(np.int64)
    busy = np.zeros((len(shown), columns))
    for at, number in enumerate(shown):
        rows = order[bounds[number] : bounds[number + 1]]
        going_on = Intervals.union_of(trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows])
        busy[at] = np.diff(going_on.before_ns(edges)) / np.maximum(1, np.diff(edges))
    return Overview(start, end, tuple(all_lanes[at] for at in shown), busy)
