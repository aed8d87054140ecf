"""Lanes and levels of a profile's events, and a window of them in so few boxes that a page can hold it: where it has
more events than that, short neighbours become one box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
    `nests` (n,): 0 for events that can have none inside them, as kernels of a stream."""
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


#: A box that stands for several events has no name of its own
MERGED = -1
#: The finest that neighbours are merged at: such a part of the window is less than a pixel of any screen
FINEST, COARSEST = 2**14, 16


class Boxes(NamedTuple):
    """Columns (n,): `row` is the event's row in the trace, or MERGED; `lane` counts in the window's lanes, `level` is
    the depth in it; `kind` counts in KINDS; times in nanoseconds; so many `events` and `own_ns` of their time
    are in a box."""

    row: I32
    lane: I32
    level: I32
    kind: I32
    begin_ns: I64
    length_ns: I64
    events: I32
    own_ns: I64

    @classmethod
    def from_columns(cls, columns: Iterable[npt.NDArray[np.integer]]) -> Boxes:
        row, lane, level, kind, begin, length, events, own = columns
        row, lane, level, kind, events = (column.astype(np.int32) for column in (row, lane, level, kind, events))
        begin, length, own = (column.astype(np.int64) for column in (begin, length, own))
        return cls(row, lane, level, kind, begin, length, events, own)

    def take_rows(self, at: npt.NDArray[np.intp]) -> Boxes:
        return Boxes.from_columns(column[at] for column in self)


@dataclass(frozen=True)
class Window:
    """[start, end) of a trace, its boxes in order of their begins. `resolution_ns`: events shorter than this may be
    merged with their neighbours (0: all are single)."""

    start_ns: int
    end_ns: int
    lanes: tuple[Lane, ...]
    boxes: Boxes
    resolution_ns: int

    @property
    def event_count(self) -> int:
        return int(self.boxes.events.sum())

    @property
    def merged_count(self) -> int:
        """Return the number of events that have no box of their own."""
        return int(self.boxes.events[self.boxes.row == MERGED].sum())


def make_window(trace: Trace, start_ns: int, end_ns: int, most: int) -> Window:
    """Return what goes on in [start, end) in at most about `most` boxes."""
    ends = trace.start_ns + trace.duration_ns
    instants = (trace.duration_ns == 0) & (trace.start_ns >= start_ns)
    inside = np.flatnonzero((trace.start_ns < end_ns) & ((ends > start_ns) | instants))
    every, lane_of = arrange_lanes(trace)
    used, lane = np.unique(lane_of[inside], return_inverse=True)
    lane = lane.reshape(-1)
    begin = np.maximum(trace.start_ns[inside], start_ns)
    length = np.minimum(ends[inside], end_ns) - begin
    level = compute_levels(lane.astype(np.int32), begin, length)
    ones = np.ones(inside.size, np.int32)
    single = Boxes.from_columns((inside, lane, level, trace.kind[inside], begin, length, ones, length))
    resolution, shown, parts = 0, single, FINEST
    while shown.row.size > most and parts >= COARSEST:
        resolution = max(1, (end_ns - start_ns) // parts)
        shown = _merge_short(single, start_ns, resolution)
        parts //= 2
    shown = shown.take_rows(np.lexsort((shown.level, shown.lane, shown.begin_ns)))
    return Window(start_ns, end_ns, tuple(every[at] for at in used.tolist()), shown, resolution)


def _merge_short(boxes: Boxes, start_ns: int, resolution: int) -> Boxes:
    """Join events shorter than the resolution into a box with those of their kind that begin in the same part."""
    at = np.flatnonzero(boxes.length_ns < resolution)
    key = (boxes.begin_ns[at] - start_ns) // resolution
    for column, many in (
        (boxes.lane, int(boxes.lane.max()) + 1),
        (boxes.level, int(boxes.level.max()) + 1),
        (boxes.kind, len(KINDS)),
    ):
        key = key * many + column[at]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    begin, end = np.full(first.size, 2**62, np.int64), np.zeros(first.size, np.int64)
    own = np.zeros(first.size, np.int64)
    np.minimum.at(begin, group, boxes.begin_ns[at])
    np.maximum.at(end, group, (boxes.begin_ns + boxes.length_ns)[at])
    np.add.at(own, group, boxes.own_ns[at])
    events, head = np.bincount(group, minlength=first.size).astype(np.int32), boxes.take_rows(at[first])
    row = np.where(events == 1, head.row, MERGED).astype(np.int32)
    merged_boxes = head._replace(row=row, begin_ns=begin, length_ns=end - begin, events=events, own_ns=own)
    long = boxes.take_rows(np.flatnonzero(boxes.length_ns >= resolution))
    return Boxes.from_columns(np.concatenate([first, second]) for first, second in zip(long, merged_boxes))
