"""In which lane an event is shown, and how many lanes apart those stand that overlap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.trace import I32, KINDS, Trace
from ascend_workbook.storage import natural_key

#: Kind -> group of lanes, in the order in which a reader looks: what the host does, what it hands out, what came of it
GROUPS = {
    "step": "steps",
    "annotation": "host",
    "loading": "host",
    "host_op": "host",
    "python": "python",
    "runtime": "launch",
    "compute": "streams",
    "copy": "streams",
    "device_other": "streams",
    "communication": "communication",
    "communication_task": "communication",
}
AT_ONCE = 2**14


class Lane(NamedTuple):
    """One lane of a view: its group, and the name that the trace gives it."""

    group: str
    name: str


def arrange_lanes(trace: Trace, groups: Mapping[str, str] = GROUPS) -> tuple[tuple[Lane, ...], I32]:
    """Return the lanes, group after group, and for each event the number of its lane: (n,)."""
    order = list(dict.fromkeys(groups.values()))
    many = max(1, len(trace.lanes))
    key = np.array([order.index(groups[kind]) * many for kind in KINDS], np.int32)[trace.kind] + trace.lane
    keys = np.flatnonzero(np.bincount(key, minlength=many)).tolist() if len(trace) else []
    lane_of_key = {key: Lane(order[key // many], trace.lanes[key % many]) for key in keys}
    sort = sorted(keys, key=lambda key: (order.index(lane_of_key[key].group), natural_key(lane_of_key[key].name)))
    place = np.zeros(len(order) * many, np.int32)
    place[sort] = np.arange(len(lane_of_key), dtype=np.int32)
    return tuple(lane_of_key[key] for key in sort), place[key]


def iterate_rows(order: npt.NDArray[np.intp], *columns: npt.NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield (row, its value in each column) in this order of rows, as Python's own numbers: few of them at once."""
    for begin in range(0, order.size, AT_ONCE):
        rows = order[begin : begin + AT_ONCE]
        yield from zip(rows.tolist(), *(column[rows].tolist() for column in columns))


def compute_levels(lane: I32, start_ns: I64, duration_ns: I64) -> I32:
    """Return how deep each event stands in its lane (0: on top), so that no two on one level overlap: (n,)."""
    level = np.zeros(lane.size, np.int32)
    order = np.lexsort((-duration_ns, start_ns, lane))
    ends: list[int] = []
    before = -1
    for row, at, start, duration in iterate_rows(order, lane, start_ns, duration_ns):
        if at != before:
            ends, before = [], at
        while ends and ends[-1] <= start:
            ends.pop()
        level[row] = len(ends)
        ends.append(start + duration)
    return level


def split_lanes(lane: I32, start_ns: I64, duration_ns: I64, nests: I32) -> I32:
    """Return which of the parts of its lane each event stands in, so that in one part events nest or lie apart: (n,).

    `nests` (n,): 0 for events that can have none inside them, as kernels of a stream.
    """
    part = np.zeros(lane.size, np.int32)
    order = np.lexsort((-duration_ns, start_ns, lane))
    parts: list[list[int]] = []
    before = -1
    for row, at, start, end, nesting in iterate_rows(order, lane, start_ns, start_ns + duration_ns, nests):
        if at != before:
            parts, before = [], at
        part[row] = _choose_part(parts, start, end, bool(nesting))
    return part


def _choose_part(parts: list[list[int]], start: int, end: int, nesting: bool) -> int:
    for number, open_ones in enumerate(parts):
        while open_ones and open_ones[-1] <= start:
            open_ones.pop()
        if not open_ones or (nesting and end <= open_ones[-1]):
            open_ones.append(end)
            return number
    parts.append([end])
    return len(parts) - 1
