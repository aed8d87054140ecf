"""The events of one step in detail. Where there are more than a page can hold, short neighbours become one box."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.timeline.lanes import Lane, arrange_lanes, compute_levels
from ascend_workbook.profiling.trace import I32, KINDS, Trace

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
    def from_columns(cls, columns: Iterable[npt.NDArray[Any]]) -> Boxes:
        wide = ("begin_ns", "length_ns", "own_ns")
        typed: list[Any] = [
            column.astype(np.int64 if name in wide else np.int32) for name, column in zip(cls._fields, columns)
        ]
        return cls(*typed)

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
    columns: list[tuple[Any, Any]] = list(
        zip(boxes.take_rows(np.flatnonzero(boxes.length_ns >= resolution)), merged_boxes)
    )
    return Boxes.from_columns(np.concatenate(both) for both in columns)
