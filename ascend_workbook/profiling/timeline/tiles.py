"""What a view asks of an index: boxes of a tile, names by a search, the next hit, one event, sums, curves.

A tile is a stretch of time in bins of equal width. An event at least as long as a bin is a box of its own, with its
place in the index; shorter ones that begin in one bin of a row are one box, which tells how many they are, what time
they take and which is the longest. With bins of a nanosecond every event stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.families import FAMILIES
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.timeline.index import HOST, Index
from ascend_workbook.profiling.trace import I32, KINDS

F64 = npt.NDArray[np.float64]
#: In the place of an event's place, for a box of several
SEVERAL = -1
#: Rows of a list of names, and of those that an event launched
NAMES, LAUNCHED = 200, 400


class _Same:
    """An index as a key: the object itself."""

    def __init__(self, value: Index) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


class Boxes(NamedTuple):
    """Columns (n,), ordered by row: `place` in the index or SEVERAL; `name` and `kind` are of the longest event."""

    row: I32
    place: I32
    begin_ns: F64
    length_ns: F64
    own_ns: F64
    events: I32
    name: I32
    kind: I32
    family: I32

    def pack(self) -> bytes:
        """Return the columns as a page reads them: their number, then each, little-endian, the wide ones first."""
        wide = [column.astype("<f8") for column in (self.begin_ns, self.length_ns, self.own_ns)]
        narrow = [
            column.astype("<i4") for column in (self.row, self.place, self.events, self.name, self.kind, self.family)
        ]
        head = np.array([self.row.size, 0], "<u4")
        return b"".join(column.tobytes() for column in (head, *wide, *narrow))


def cut_tile(index: Index, begin_ns: int, width_ns: int, bins: int, rows: npt.NDArray[np.integer]) -> Boxes:
    """Cut the tile of so many bins of this width, in these rows."""
    edges = np.clip(begin_ns + width_ns * np.arange(bins + 1, dtype=np.int64), 0, index.span_ns - 1)
    at = np.searchsorted(index.key, rows[:, None] * index.span_ns + edges[None, :], "left")
    first, end = at[:, :-1].reshape(-1), at[:, 1:].reshape(-1)
    row = np.repeat(rows, bins)
    used = end > first
    row, first, end = row[used], first[used], end[used]
    long = index.length_ns[end - 1] >= width_ns  # only the last that begins in a bin can reach out of it
    short = end - first - long
    alone, several = short == 1, short > 1
    into = at[:, 0] - 1  # what began before, and reaches in
    into = into[(into >= index.bounds[rows]) & (into >= 0)]
    into = into[index.begin_of(into) + np.maximum(1, index.length_ns[into]) > edges[0]]
    single = np.concatenate((into, end[long] - 1, first[alone]))
    head, tail = first[several], end[several] - long[several]
    longest = index.longest_in(head, tail)
    began = index.begin_of(head)
    until = index.begin_of(tail - 1) + index.length_ns[tail - 1] - began
    places = np.concatenate((single, longest))
    lengths = index.length_ns[single]
    boxes = Boxes(
        row=np.concatenate((index.row_of(single), row[several])).astype(np.int32),
        place=np.concatenate((single, np.full(head.size, SEVERAL))).astype(np.int32),
        begin_ns=np.concatenate((index.begin_of(single), began)).astype(np.float64),
        length_ns=np.concatenate((lengths, until)).astype(np.float64),
        own_ns=np.concatenate((lengths, index.before_ns[tail] - index.before_ns[head])).astype(np.float64),
        events=np.concatenate((np.ones(single.size, np.int64), tail - head)).astype(np.int32),
        name=index.name[places],
        kind=index.kind[places].astype(np.int32),
        family=index.family_at(places),
    )
    order = np.argsort(boxes.row, kind="stable")
    return Boxes._make(column[order] for column in boxes)


@lru_cache(maxsize=64)
def _find_names(names: tuple[str, ...], text: str) -> npt.NDArray[np.intp]:
    return np.flatnonzero([text in name for name in names]) if names else np.zeros(0, np.intp)


def find_names(index: Index, text: str) -> npt.NDArray[np.intp]:
    """Return the numbers of the names that hold this text, whatever the case of its letters."""
    return _find_names(index.lower_names, text.strip().lower())


def search_names(index: Index, text: str) -> dict[str, Any]:
    """Return how many events have such a name, their time, and a row for each name, the dearest first."""
    numbers = find_names(index, text)
    counts = np.diff(index.name_bounds)[numbers]
    totals = index.name_total_ns[numbers]
    order = np.lexsort((-counts, -totals))[:NAMES]
    return {
        "count": int(counts.sum()),
        "total_ns": float(totals.sum()),
        "names": int(numbers.size),
        "numbers": numbers[:20000].tolist(),
        "rows": [[int(numbers[at]), index.names[numbers[at]], int(counts[at]), float(totals[at])] for at in order],
    }


@lru_cache(maxsize=4)
def _order_hits(index: _Same, numbers: tuple[int, ...]) -> I32:
    """Return the places of all events with these names, in order of their begins."""
    all_events = index.value
    slices = [
        all_events.by_name[int(all_events.name_bounds[number]) : int(all_events.name_bounds[number + 1])]
        for number in numbers
    ]
    places = np.concatenate(slices) if slices else np.zeros(0, np.int32)
    return places if len(slices) < 2 else places[np.argsort(all_events.begin_of(places), kind="stable")]


def find_hit(index: Index, numbers: Sequence[int], hit: int) -> dict[str, Any] | None:
    """Describe the event that is hit number `hit` (from 1) of these names, in order of time."""
    places = _order_hits(_Same(index), tuple(numbers))
    return {**describe_event(index, int(places[hit - 1])), "number": hit} if 1 <= hit <= places.size else None


def find_first(index: Index, name: str, after_ns: int) -> dict[str, Any] | None:
    """Describe the first event with exactly this name that begins at a moment or after it; None where there is none."""
    number = _number_of(_Same(index)).get(name)
    if number is None:
        return None
    first, end = int(index.name_bounds[number]), int(index.name_bounds[number + 1])
    at = first + int(np.searchsorted(index.named_begin_ns[first:end], after_ns, "left"))
    return describe_event(index, int(index.by_name[at])) if at < end else None


@lru_cache(maxsize=4)
def _number_of(index: _Same) -> dict[str, int]:
    return {name: number for number, name in reversed(list(enumerate(index.value.names)))}


def count_hits(index: Index, numbers: Sequence[int], begin_ns: int, end_ns: int, bins: int) -> I32:
    """Count the events with one of these names that begin in each bin: (bins,)."""
    edges = np.linspace(begin_ns, max(begin_ns + 1, end_ns), bins + 1)
    begins = index.begin_of(_order_hits(_Same(index), tuple(numbers)))
    return np.diff(np.searchsorted(begins, edges)).astype(np.int32)


def describe_event(index: Index, place: int) -> dict[str, Any]:
    """Describe one event: what it is, when it was, who launched it, what it launched."""
    begin, row = int(index.begin_of(np.array([place]))[0]), int(index.row_of(np.array([place]))[0])
    number, by = int(index.name[place]), int(index.by[place])
    described = {
        "place": place,
        "row": row,
        "begin_ns": begin,
        "length_ns": int(index.length_ns[place]),
        "name": index.names[number],
        "name_number": number,
        "kind": int(index.kind[place]),
        "family": int(index.family_at(np.array([place]))[0]),
        "shape": index.shapes[index.shape[place]] if index.shapes else "",
        "same": [int(np.diff(index.name_bounds)[number]), float(index.name_total_ns[number])],
    }
    described["by"] = _locate(index, by) if by >= 0 else None
    described["launched"] = [_locate(index, at) for at in find_launched(index, place).tolist()]
    return described


def _locate(index: Index, place: int) -> list[Any]:
    place_only = np.array([place])
    begin, row = int(index.begin_of(place_only)[0]), int(index.row_of(place_only)[0])
    return [place, row, begin, int(index.length_ns[place]), index.names[index.name[place]]]


def find_launched(index: Index, place: int) -> npt.NDArray[np.integer]:
    """Return the first LAUNCHED events that this one launched, or what runs inside it."""
    order, bounds = _launches(index)
    place_only = np.array([place])
    begin, row = int(index.begin_of(place_only)[0]), int(index.row_of(place_only)[0])
    lane = index.lanes[index.lane_of_row[row]]
    pieces: list[npt.NDArray[np.integer]] = []
    for inner in range(row, lane.row + lane.levels):
        keys = inner * index.span_ns + np.array([begin, begin + max(1, int(index.length_ns[place]))])
        first, end = (int(at) for at in np.searchsorted(index.key, keys, "left"))
        if end > first:
            pieces.append(order[int(bounds[first]) : min(int(bounds[end]), int(bounds[first]) + LAUNCHED)])
        if sum(each.size for each in pieces) >= LAUNCHED:
            break
    return np.sort(np.concatenate(pieces or [np.zeros(0, np.int32)])[:LAUNCHED])


@lru_cache(maxsize=8)
def _launches_of(index: _Same) -> tuple[I32, I64]:
    by = index.value.by
    order = np.argsort(by, kind="stable").astype(np.int32)
    order = order[int((by < 0).sum()) :]
    counts = np.bincount(by[order], minlength=by.size)
    return order, np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _launches(index: Index) -> tuple[I32, I64]:
    return _launches_of(_Same(index))


def sum_window(
    index: Index, begin_ns: int, end_ns: int, rows: npt.NDArray[np.integer], numbers: Sequence[int] | None = None
) -> dict[str, Any]:
    """Sum what lies in a window, of events that reach out of it only what is inside: by name and by family; with
    `numbers` those names alone. Marks of steps are not counted."""
    first = np.searchsorted(index.key, rows * index.span_ns + begin_ns, "right") - 1
    first = np.maximum(first, index.bounds[rows])
    end = np.searchsorted(index.key, rows * index.span_ns + min(end_ns, index.span_ns - 1), "left")
    pieces = [slice(int(a), int(b)) for a, b in zip(first, end) if b > a]
    names = len(index.names)
    count, total, longest = np.zeros(names, np.int64), np.zeros(names), np.zeros(names, np.int64)
    family = np.zeros(HOST + 1)
    wanted = None
    if numbers is not None:
        wanted = np.zeros(names, np.bool_)
        wanted[list(numbers)] = True
    for piece in pieces:
        begin = index.begin_of(piece)
        inside = np.minimum(begin + index.length_ns[piece], end_ns) - np.maximum(begin, begin_ns)
        seen = (inside >= 0) & (index.kind[piece] != KINDS.index("step"))
        name = index.name[piece]
        if wanted is not None:
            seen &= wanted[name]
        name, inside = name[seen], inside[seen]
        if not name.size:
            continue
        most = int(name.max()) + 1
        count[:most] += np.bincount(name, minlength=most)
        total[:most] += np.bincount(name, weights=inside, minlength=most)
        np.maximum.at(longest, name, index.length_ns[piece][seen])
        family += np.bincount(index.family_at(piece)[seen], weights=inside, minlength=HOST + 1)
    order = np.argsort(-total, kind="stable")[:NAMES]
    rows_of_names = [
        [index.names[at], int(count[at]), float(total[at]), int(longest[at])] for at in order.tolist() if count[at]
    ]
    return {
        "count": int(count.sum()),
        "total_ns": float(total.sum()),
        "rows": rows_of_names,
        "families": {name: float(family[at]) for at, name in enumerate((*FAMILIES, "other")) if family[at]},
    }


def sample_curve(index: Index, number: int, begin_ns: int, end_ns: int, bins: int) -> F64:
    """Return the most that a curve has in each bin, what it had before included: (bins,)."""
    curve = index.curves[number]
    edges = np.linspace(begin_ns, max(begin_ns + 1, end_ns), bins + 1)
    at = np.searchsorted(curve.at_ns, edges, "left")
    held = np.where(at[:-1] > 0, curve.value[np.maximum(at[:-1] - 1, 0)], 0.0) if curve.value.size else np.zeros(bins)
    full = np.flatnonzero(at[1:] > at[:-1])
    if full.size:
        starts = np.stack((at[:-1][full], at[1:][full]), axis=1).reshape(-1)
        padded = np.append(curve.value, 0.0)
        held[full] = np.maximum(held[full], np.maximum.reduceat(padded, starts)[::2])
    return held


def summarise_lanes(index: Index, columns: int = 600) -> list[tuple[int, str, str]]:
    """Return for each rank and group of lanes how busy its busiest lane is over the whole time: a digit a column."""
    edges = np.linspace(0, index.span_ns - 1, columns + 1).astype(np.int64)
    busy: dict[tuple[int, str], F64] = {}
    for lane in index.lanes:
        if lane.group == "steps":
            continue
        at = np.searchsorted(index.key, lane.row * index.span_ns + edges, "right") - 1
        inside = at >= index.bounds[lane.row]
        at = np.maximum(at, 0)
        reached = np.minimum(edges - index.begin_of(at), index.length_ns[at]) + index.before_ns[at]
        covered = np.where(inside, reached, index.before_ns[index.bounds[lane.row]])
        share = np.diff(covered) / np.maximum(1, np.diff(edges))
        key = (lane.rank, lane.group)
        busy[key] = np.maximum(busy[key], share) if key in busy else share
    tenths = {key: np.ceil(np.clip(share, 0, 1) * 9).astype(np.int64).tolist() for key, share in busy.items()}
    return [(rank, group, "".join(map(str, row))) for (rank, group), row in tenths.items()]
