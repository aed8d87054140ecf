"""What a timeline shows: lanes, one step in detail, an overview of the rest. ascend_workbook/show/timeline draws it.

A row a lane; what is drawn lies in `facts["timeline"]`, small enough for a page: where one step has more events than a
page can hold, short neighbours become one box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import format_spans
from ascend_workbook.profiling.breakdown import StepTime
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import make_columns
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.trace import I32, KINDS, Trace, order_by_code
from ascend_workbook.storage import natural_key

#: Boxes of a page: some 30 bytes each
MOST = 20_000
NAME = 300
#: Letters of all names, and of all shapes; parts of an overview's strips: where there are many each is shorter
LETTERS, PARTS = 800_000, 400_000
#: Where there is less room, as with several reports on a page, these have at least this part of it
LEAST = 1 / 8


def report_timeline(profile: Profile, *, step: int | None = None, most: int = MOST) -> Report:
    """Report the step with this number in detail (None: the one nearest to the median of the steady steps) and an
    overview of the whole. Raises WorkbookError where there is no such step."""
    chosen = _choose_step(profile, step)
    shown = make_window(profile.trace, chosen.start_ns, chosen.end_ns, most)
    room = min(1.0, max(LEAST, most / MOST))
    columns = max(40, min(COLUMNS, int(PARTS * room) // max(1, 2 * len(profile.trace.lanes))))
    whole = make_overview(profile.trace, columns)
    args: dict[str, Scalar] = {"step": chosen.number, "events": shown.event_count, "all": len(profile.trace)}
    args["merged"] = shown.merged_count
    args |= {"resolution_us": shown.resolution_ns / 1000, "ms": profile.to_ms(shown.end_ns - shown.start_ns)}
    rows: list[tuple[Scalar, ...]] = []
    length = max(1, shown.end_ns - shown.start_ns)
    for number, lane in enumerate(shown.lanes):
        at = shown.boxes.lane == number
        begin = shown.boxes.begin_ns[at]
        busy = Intervals.union_of(begin, begin + shown.boxes.length_ns[at]).length_ns
        group: Scalar = Sentence(f"timeline.group.{lane.group}")
        rows.append((lane.name, group, int(shown.boxes.events[at].sum()), busy / 1e6, 100 * busy / length))
    return Report(
        "profiling",
        "timeline",
        (Finding("PRF340", Status.GOOD, "PRF340.merged" if shown.merged_count else "PRF340.whole", args),),
        Table(make_columns(lane="", lane_group="", lane_events="", lane_busy="ms", share="%"), tuple(rows)),
        Chart("lanes", "lane", ("lane_busy",), "ms"),
        facts={"timeline": pack_timeline(profile, shown, chosen.number, whole, room)},
        tier=profile.tier,
    )


def _choose_step(profile: Profile, step: int | None) -> StepTime:
    steps = profile.breakdown.steps
    if step is None:
        middle = profile.breakdown.median_ns
        return min(profile.breakdown.steady, key=lambda candidate: abs(candidate.total_ns - middle))
    matches = [candidate for candidate in steps if candidate.number == step]
    if not matches:
        key = "profiling.step_not_looked_at" if profile.trace.looked else "profiling.no_such_step"
        here = format_spans([candidate.number for candidate in steps])
        raise WorkbookError(key, path=profile.trace.source, step=step, steps=here)
    return matches[-1]


def pack_timeline(profile: Profile, shown: Window, step: int, whole: Overview, room: float = 1.0) -> dict[str, object]:
    """Return what the views draw: texts once, columns of whole numbers as texts with blanks; times in nanoseconds after
    the window's start, `begin` as differences. `by` is the box that launched a box, -1 where it is not in the window.
    """
    trace = profile.trace
    single = shown.boxes.row != MERGED
    rows = np.maximum(shown.boxes.row, 0)
    names, name = _used_texts(trace.names, np.where(single, trace.name[rows] if len(trace) else 0, -1), room)
    shapes, shape = _used_texts(trace.shapes, np.where(single, trace.shape[rows] if len(trace) else 0, -1), room)
    begin = shown.boxes.begin_ns - shown.start_ns
    tenths = np.ceil(np.clip(whole.busy, 0, 1) * 9).astype(np.int64)
    steps = [(entry.number, entry.start_ns - whole.start_ns, entry.end_ns - whole.start_ns) for entry in trace.steps]
    return {
        "step": step,
        "simulated": profile.simulated,
        "length_ns": shown.end_ns - shown.start_ns,
        "resolution_ns": shown.resolution_ns,
        "merged": shown.merged_count,
        "kinds": list(KINDS),
        "lanes": [[lane.group, _cut_text(lane.name, NAME)] for lane in shown.lanes],
        "names": names,
        "shapes": shapes,
        "boxes": {
            "begin": _column_text(np.diff(begin, prepend=0)),
            "length": _column_text(shown.boxes.length_ns),
            "lane": _column_text(shown.boxes.lane),
            "level": _column_text(shown.boxes.level),
            "kind": _column_text(shown.boxes.kind),
            "name": _column_text(name),
            "shape": _column_text(shape),
            "by": _column_text(_launching_boxes(trace, shown, single, rows)),
            "count": _column_text(shown.boxes.events) if shown.merged_count else "",
            "own": _column_text(shown.boxes.own_ns) if shown.merged_count else "",
        },
        "overview": {
            "length_ns": whole.end_ns - whole.start_ns,
            "window": f"{shown.start_ns - whole.start_ns} {shown.end_ns - whole.start_ns}",
            "lanes": [[lane.group, _cut_text(lane.name, NAME)] for lane in whole.lanes],
            "busy": ["".join(map(str, row)) for row in tenths.tolist()],
            "steps": [" ".join(map(str, step)) for step in steps[:2000]],
            "events": len(trace),
        },
    }


def _launching_boxes(
    trace: Trace, shown: Window, single: npt.NDArray[np.bool_], rows: npt.NDArray[np.integer]
) -> npt.NDArray[np.int64]:
    if not len(trace):
        return np.empty(0, np.int64)
    box_of = np.full(len(trace), -1, np.int64)
    box_of[shown.boxes.row[single]] = np.flatnonzero(single)
    by = np.where(single, trace.launched_by[rows], -1)
    return np.where(by >= 0, box_of[by], -1)


def _used_texts(texts: tuple[str, ...], code: npt.NDArray[np.integer], room: float) -> tuple[list[str], I64]:
    """Return the texts that are used, cut to a length that a reader and a page can take in, and the codes in them."""
    used, again = np.unique(code, return_inverse=True)
    first = 1 if used.size and used[0] < 0 else 0
    letters = max(16, min(NAME, int(LETTERS * room) // max(1, used.size)))
    return [_cut_text(texts[at], letters) for at in used.tolist()[first:]], again.reshape(-1) - first


def _cut_text(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _column_text(values: npt.NDArray[np.integer]) -> str:
    return " ".join(map(str, values.tolist()))


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
