"""Every event of a profile, laid out in rows and ordered so that any window of it is found at once.

A lane has a row for each level of nesting, and in a row no two events overlap. All columns are ordered by row and then
by begin, so one sorted column (`key`: row times span plus begin) answers for every row where a moment lies. What lies
between two moments is a slice of it: its events are counted by two places, its time by a running sum, its longest event
by maxima of blocks (a pyramid over the events). Nothing is left out or merged here; `tiles` merges for a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.families import FAMILIES, family_of
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.timeline.step import arrange_lanes, compute_levels
from ascend_workbook.profiling.trace import DEVICE_KINDS, I32, KINDS, ON_DEVICE, Trace, order_by_code
from ascend_workbook.redaction.exits import redact

#: Of a lane: what stands deeper is drawn in the last of them, where events may overlap
LEVELS = 512
#: Kinds whose events have a family, by their numbers
_MEASURED = [KINDS.index(kind) for kind in ON_DEVICE]
#: Events of a block of the pyramid
BLOCK = 16
#: Letters of a name that is told
LETTERS = 400
#: Ranks whose recordings are further apart than this have other clocks: their first steps are laid over each other
APART_NS = 60 * 10**9
#: In the place of a family: none is known, and what is no device's
OTHER, HOST = len(FAMILIES), len(FAMILIES) + 1


class Lane(NamedTuple):
    """One lane of the timeline: rank, group and name, its first row and how many rows it has."""

    rank: int
    group: str
    name: str
    row: int
    levels: int


class Mark(NamedTuple):
    """A step as a rank marked it: begin and end in nanoseconds after the index's start."""

    rank: int
    number: int
    begin_ns: int
    end_ns: int


class Curve(NamedTuple):
    """A quantity over time: from each moment (n,) on it has the value beside it."""

    name: str
    unit: str
    at_ns: I64
    value: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Index:
    """Columns (n,) in order of rows and begins; times in nanoseconds after `start_ns`. `by`: the place of the event
    that launched it, -1 where it is not known. `by_name`: all places in order of names and begins."""

    start_ns: int
    span_ns: int
    lanes: tuple[Lane, ...]
    steps: tuple[Mark, ...]
    names: tuple[str, ...]
    shapes: tuple[str, ...]
    key: I64
    length_ns: I64
    name: I32
    kind: npt.NDArray[np.int8]
    shape: I32
    by: I32
    curves: tuple[Curve, ...] = ()
    source: str = ""
    tier: str = ""
    simulated: bool = False
    shifted: Mapping[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.key.size)

    @cached_property
    def rows(self) -> int:
        return max((lane.row + lane.levels for lane in self.lanes), default=0)

    @cached_property
    def bounds(self) -> I64:
        """Return where each row begins and the last ends: (rows + 1,)."""
        return np.searchsorted(self.key, np.arange(self.rows + 1) * self.span_ns).astype(np.int64)

    @cached_property
    def lane_of_row(self) -> I32:
        return np.repeat(np.arange(len(self.lanes), dtype=np.int32), [lane.levels for lane in self.lanes])

    @cached_property
    def before_ns(self) -> I64:
        """Return the time of all events before each place: (n + 1,)."""
        return np.concatenate(([0], np.cumsum(self.length_ns)))

    @cached_property
    def by_name(self) -> npt.NDArray[np.int32]:
        order = np.argsort(self.begin_of(slice(None)), kind="stable").astype(np.int32)
        return order[order_by_code(self.name[order])]

    @cached_property
    def named_begin_ns(self) -> I64:
        """Return the begins in the order of `by_name`: (n,)."""
        return self.begin_of(self.by_name)

    @cached_property
    def name_bounds(self) -> I64:
        counts = np.bincount(self.name, minlength=len(self.names))
        return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)

    @cached_property
    def name_total_ns(self) -> npt.NDArray[np.float64]:
        named = self.name >= 0
        totals = np.bincount(self.name[named], weights=self.length_ns[named], minlength=len(self.names))
        return totals.astype(np.float64)

    @cached_property
    def lower_names(self) -> tuple[str, ...]:
        return tuple(name.lower() for name in self.names)

    @cached_property
    def family_of_name(self) -> I32:
        """Return for each name its family as a kernel's name, as a place in FAMILIES or OTHER: (names,). OTHER too of a
        name that nothing on a device has."""
        of_device = self.name[np.isin(self.kind, _MEASURED) & (self.name >= 0)]
        families = np.full(max(1, len(self.names)), OTHER, np.int32)
        for at in np.flatnonzero(np.bincount(of_device, minlength=len(families))).tolist():
            families[at] = _number_family(family_of(self.names[at]))
        return families

    def family_at(self, places: npt.NDArray[np.integer] | slice) -> I32:
        """Return the family of each event, HOST for what is no work of a device."""
        kind = self.kind[places]
        name = self.name[places]
        family = np.where(name >= 0, self.family_of_name[name], OTHER)
        for own, always in (("communication", "collective"), ("copy", "copy")):
            family = np.where(kind == KINDS.index(own), FAMILIES.index(always), family)
        measured = np.isin(kind, _MEASURED)
        return np.where(measured, family, HOST).astype(np.int32)

    def begin_of(self, places: npt.NDArray[np.integer] | slice) -> I64:
        return np.asarray(self.key[places] % self.span_ns, np.int64)

    def row_of(self, places: npt.NDArray[np.integer] | slice) -> I64:
        return np.asarray(self.key[places] // self.span_ns, np.int64)

    def longest_in(self, first: I64, end: I64) -> I64:
        """Return the place of the longest event of each range of places that is not empty: (m,). Of a range of more
        than two blocks only whole blocks are looked at."""
        longest = first.copy()
        large = end - first > 2 * BLOCK
        left, right = -(-first[large] // BLOCK), end[large] // BLOCK
        power = np.frexp((right - left).astype(np.float64))[1] - 1
        if left.size:
            candidates = self._pyramid[power, left], self._pyramid[power, right - (1 << power)]
            shorter = self.length_ns[candidates[0]] < self.length_ns[candidates[1]]
            longest[large] = np.where(shorter, candidates[1], candidates[0])
        small = np.flatnonzero(~large)
        for step in range(1, int((end - first)[small].max(initial=0))):
            small = small[first[small] + step < end[small]]
            candidate = first[small] + step
            better = self.length_ns[candidate] > self.length_ns[longest[small]]
            longest[small[better]] = candidate[better]
        return np.asarray(longest, np.int64)

    @cached_property
    def _pyramid(self) -> I32:
        """Return (levels, blocks): the place of the longest event of 2**level blocks from each on."""
        blocks = len(self) // BLOCK
        lengths = self.length_ns[: blocks * BLOCK].reshape(blocks, BLOCK)
        best = [(np.arange(blocks) * BLOCK + lengths.argmax(axis=1)).astype(np.int32)]
        while 2 ** len(best) <= blocks:
            reach = 2 ** (len(best) - 1)
            other = np.concatenate((best[-1][reach:], best[-1][-reach:]))[:blocks]
            better = self.length_ns[other] > self.length_ns[best[-1]]
            best.append(np.where(better, other, best[-1]))
        return np.stack(best) if blocks else np.zeros((1, 1), np.int32)

    def prepare(self) -> Index:
        """Compute all that is computed once, and return the index itself."""
        for name in ("bounds", "before_ns", "by_name", "named_begin_ns", "name_bounds", "name_total_ns", "_pyramid"):
            getattr(self, name)
        return self


def _number_family(family: str) -> int:
    return FAMILIES.index(family) if family in FAMILIES else OTHER


def stack_levels(lane: I32, start_ns: I64, length_ns: I64) -> I32:
    """Return how deep each event stands in its lane (0: on top), so that no two on one level overlap: (n,). Every event
    takes a nanosecond at least: those without length stand below one another."""
    if not lane.size:
        return np.zeros(0, np.int32)
    length = np.maximum(1, length_ns)
    start = start_ns - start_ns.min()
    span = int((start + length).max()) + 1
    order = np.argsort(start, kind="stable")
    equal = np.diff(start[order]) == 0
    among = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    if among.size:  # of those that begin together the longest stands on top
        order[among] = order[among][np.lexsort((-length[order[among]], start[order[among]]))]
    order = order[order_by_code(lane[order])]
    keys = lane[order].astype(np.int64) * span + start[order]
    ends = keys + length[order]
    depth = (np.arange(order.size) - np.searchsorted(np.sort(ends), keys, "right")).astype(np.int32)
    # in a lane whose events nest, as many as are open stand above; where they do not, two may meet on one level
    deepest = int(depth.max()) + 1
    sort = order_by_code(lane[order] * np.int64(deepest) + depth)
    code = lane[order][sort] * np.int64(deepest) + depth[sort]
    clash = (code[1:] == code[:-1]) & (ends[sort][:-1] > keys[sort][1:])
    level = np.empty(order.size, np.int32)
    level[order] = depth
    for number in np.flatnonzero(np.bincount(lane[order][sort][1:][clash])).tolist():
        rows = np.flatnonzero(lane == number)
        level[rows] = compute_levels(np.zeros(rows.size, np.int32), start[rows], length[rows])
    return np.minimum(level, LEVELS - 1)


class Part(NamedTuple):
    """What one rank brings to an index."""

    rank: int
    trace: Trace
    curves: tuple[Curve, ...] = ()


def build_index(parts: Sequence[Part], *, tier: str = "", simulated: bool = False, source: str = "") -> Index:
    """Build the index of the ranks' traces, one below the other."""
    shift = find_shifts([part.trace for part in parts])
    start = min(int(part.trace.start_ns.min(initial=2**62)) + by for part, by in zip(parts, shift))
    end = max(
        int((part.trace.start_ns + part.trace.duration_ns).max(initial=start)) + by for part, by in zip(parts, shift)
    )
    span = end - start + 2
    names: dict[str, int] = {}
    shapes: dict[str, int] = {}
    lanes: list[Lane] = []
    columns: list[tuple[npt.NDArray[np.integer], ...]] = []
    steps: list[Mark] = []
    curves: list[Curve] = []
    row, done = 0, 0
    for part, by in zip(parts, shift):
        trace = part.trace
        begin = trace.start_ns + (by - start)
        every, lane = arrange_lanes(trace)
        level = stack_levels(lane, begin, trace.duration_ns)
        used = np.bincount(lane * np.int64(LEVELS) + level, minlength=len(every) * LEVELS).reshape(-1, LEVELS) > 0
        levels = LEVELS - used[:, ::-1].argmax(axis=1)
        first = row + np.concatenate(([0], np.cumsum(levels))).astype(np.int64)
        lanes += [
            Lane(part.rank, entry.group, clean_text(entry.name), int(first[at]), int(levels[at]))
            for at, entry in enumerate(every)
        ]
        key = (first[lane] + level) * span + begin
        order = np.argsort(key, kind="stable")
        place = np.empty(order.size, np.int32)
        place[order] = np.arange(done, done + order.size, dtype=np.int32)
        launcher = trace.launched_by[order]
        launcher = np.where(launcher >= 0, place[launcher], -1) if len(trace) else launcher
        columns.append(
            (
                key[order],
                trace.duration_ns[order],
                _renumber(trace.names, names)[trace.name[order]] if len(trace) else trace.name,
                trace.kind[order],
                _renumber(trace.shapes, shapes)[trace.shape[order]] if len(trace) else trace.shape,
                launcher.astype(np.int32),
            )
        )
        steps += [
            Mark(part.rank, step.number, step.start_ns + by - start, step.end_ns + by - start)
            for step in trace.steps
            if trace.marked
        ]
        curves += [curve._replace(at_ns=curve.at_ns + (by - start)) for curve in part.curves]
        row, done = int(first[-1]), done + order.size
    key, length, name, kind, shape, launched = (np.concatenate(column) for column in zip(*columns))
    return Index(
        start_ns=start,
        span_ns=span,
        lanes=tuple(lanes),
        steps=tuple(steps),
        names=clean_texts(names),
        shapes=clean_texts(shapes),
        key=key.astype(np.int64),
        length_ns=length.astype(np.int64),
        name=name.astype(np.int32),
        kind=kind.astype(np.int8),
        shape=shape.astype(np.int32),
        by=launched.astype(np.int32),
        curves=tuple(curves),
        tier=tier,
        simulated=simulated,
        source=clean_text(source),
        shifted={part.rank: by for part, by in zip(parts, shift) if by},
    )


def _renumber(texts: Sequence[str], numbers: dict[str, int]) -> I32:
    """Return the numbers of these texts among those of all ranks."""
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts] or [0], np.int32)


def find_shifts(traces: Sequence[Trace]) -> list[int]:
    """Return by how many nanoseconds each trace is moved: none, where its clock is that of the first."""
    shifts = [0]
    for trace in traces[1:]:
        first, own = (_first_moment(candidate) for candidate in (traces[0], trace))
        shifts.append(first - own if abs(first - own) > APART_NS else 0)
    return shifts


def _first_moment(trace: Trace) -> int:
    return trace.steps[0].start_ns if trace.marked and trace.steps else int(trace.start_ns.min(initial=0))


def clean_texts(texts: Sequence[str] | Mapping[str, int]) -> tuple[str, ...]:
    """Return the texts as they may leave: without credentials, none too long."""
    lines = [" ".join(text[:LETTERS].split()) for text in texts]
    cleaned = redact("\n".join(lines)).split("\n")
    return tuple(cleaned) if len(cleaned) == len(lines) else tuple(map(clean_text, texts))


def clean_text(text: str) -> str:
    return " ".join(redact(" ".join(text[:LETTERS].split())).split())


def count_queue(trace: Trace) -> Curve | None:
    """Return how many of the kernels that the host has launched have not begun yet, over time; None where no launch is
    known."""
    device = np.flatnonzero((trace.kind < len(DEVICE_KINDS)) & (trace.kind != KINDS.index("communication_task")))
    launch = trace.launch_ns[device]
    by = trace.launched_by[device]
    launch = np.where((launch < 0) & (by >= 0), trace.start_ns[by], launch)
    device, launch = device[launch >= 0], launch[launch >= 0]
    begin = trace.start_ns[device]
    device, launch, begin = device[begin >= launch], launch[begin >= launch], begin[begin >= launch]
    if not device.size:
        return None
    at = np.concatenate((launch, begin))
    order = np.argsort(at, kind="stable")
    change = np.concatenate((np.ones(launch.size, np.int32), np.full(begin.size, -1, np.int32)))
    return Curve("queue", "", at[order], np.cumsum(change[order]).astype(np.float64))
