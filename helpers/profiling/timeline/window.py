"""The events of one step in detail. Where there are more than a page can hold, short neighbours become one box."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from helpers.profiling.intervals import I64
from helpers.profiling.timeline.lanes import Lane, lanes, levels
from helpers.profiling.trace import I32, KINDS, Trace

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
    def of(cls, columns: Iterable[npt.NDArray[Any]]) -> Boxes:
        wide = ("begin_ns", "length_ns", "own_ns")
        typed: list[Any] = [
            one.astype(np.int64 if name in wide else np.int32) for name, one in zip(cls._fields, columns)
        ]
        return cls(*typed)

    def take(self, at: npt.NDArray[np.intp]) -> Boxes:
        return Boxes.of(column[at] for column in self)


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
    def events(self) -> int:
        return int(self.boxes.events.sum())

    @property
    def merged(self) -> int:
        """Events that have no box of their own."""
        return int(self.boxes.events[self.boxes.row == MERGED].sum())


def window(trace: Trace, start_ns: int, end_ns: int, most: int) -> Window:
    """What goes on in [start, end) in at most about `most` boxes."""
    ends = trace.start_ns + trace.duration_ns
    instants = (trace.duration_ns == 0) & (trace.start_ns >= start_ns)
    inside = np.flatnonzero((trace.start_ns < end_ns) & ((ends > start_ns) | instants))
    every, lane_of = lanes(trace)
    used, lane = np.unique(lane_of[inside], return_inverse=True)
    lane = lane.reshape(-1)
    begin = np.maximum(trace.start_ns[inside], start_ns)
    length = np.minimum(ends[inside], end_ns) - begin
    level = levels(lane.astype(np.int32), begin, length)
    ones = np.ones(inside.size, np.int32)
    single = Boxes.of((inside, lane, level, trace.kind[inside], begin, length, ones, length))
    resolution, shown, parts = 0, single, FINEST
    while shown.row.size > most and parts >= COARSEST:
        resolution = max(1, (end_ns - start_ns) // parts)
        shown = _merged(single, start_ns, resolution)
        parts //= 2
    shown = shown.take(np.lexsort((shown.level, shown.lane, shown.begin_ns)))
    return Window(start_ns, end_ns, tuple(every[at] for at in used.tolist()), shown, resolution)


def _merged(of: Boxes, start_ns: int, resolution: int) -> Boxes:
    """Events shorter than the resolution become one box with those of their kind that begin in the same part of it."""
    at = np.flatnonzero(of.length_ns < resolution)
    key = (of.begin_ns[at] - start_ns) // resolution
    for column, many in ((of.lane, int(of.lane.max()) + 1), (of.level, int(of.level.max()) + 1), (of.kind, len(KINDS))):
        key = key * many + column[at]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    begin, end = np.full(first.size, 2**62, np.int64), np.zeros(first.size, np.int64)
    own = np.zeros(first.size, np.int64)
    np.minimum.at(begin, group, of.begin_ns[at])
    np.maximum.at(end, group, (of.begin_ns + of.length_ns)[at])
    np.add.at(own, group, of.own_ns[at])
    events, head = np.bincount(group, minlength=first.size).astype(np.int32), of.take(at[first])
    row = np.where(events == 1, head.row, MERGED).astype(np.int32)
    made = head._replace(row=row, begin_ns=begin, length_ns=end - begin, events=events, own_ns=own)
    columns: list[tuple[Any, Any]] = list(zip(of.take(np.flatnonzero(of.length_ns >= resolution)), made))
    return Boxes.of(np.concatenate(both) for both in columns)
