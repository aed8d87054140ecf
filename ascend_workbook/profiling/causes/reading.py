"""Each gap of the device read: what the host did, moment for moment, until it launched what ends the gap."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.breakdown import StepTime
from ascend_workbook.profiling.causes.marks import BIT, I32, is_own_frame, mark_names
from ascend_workbook.profiling.causes.threads import (
    HOST,
    NOBODY,
    HostThread,
    Pieces,
    Rows,
    read_threads,
    thread_of_lanes,
)
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.trace import KINDS, ON_DEVICE, UNTOLD, Trace

LOADING = KINDS.index("loading")
#: Host calls that are looked at, at most: of a longer profile some steps, spread evenly, stand for all
MOST_CALLS = 150_000
#: The host has launched, and the device rests for so much longer: it is no latency
LATE_NS = 1_000_000


@dataclass(frozen=True)
class Gaps:
    """Stretches in which the device rests, columns (n,) in order of time: `ender` the device's row that ends each, or
    -1; `call` the runtime's row that launched it, or -1; `launched_ns` when it was launched, the end of that call,
    UNTOLD where unknown; `thread` that launched it, or -1."""

    start_ns: I64
    end_ns: I64
    ender: Rows
    call: Rows
    launched_ns: I64
    thread: Rows

    def __len__(self) -> int:
        return int(self.start_ns.size)


@dataclass(frozen=True)
class Reading:
    """Pieces of gaps with what went on in each, columns (n,): `row` the innermost call of the host, or -1; `marks` of
    it and all calls around it; `frame` the row of the nearest Python function of the script's own, or -1, `operator`
    likewise of the nearest operator. `launched`: pieces after the launch; of those that are no mere latency it is told
    what the host waits in meanwhile."""

    pieces: Pieces
    row: Rows
    marks: I32
    frame: Rows
    operator: Rows
    launched: npt.NDArray[np.bool_]

    @property
    def length_ns(self) -> I64:
        return self.pieces.end_ns - self.pieces.start_ns


def choose_steps(trace: Trace, steps: tuple[StepTime, ...]) -> tuple[StepTime, ...]:
    """Return all steps, of a long profile so many, spread evenly, that MOST_CALLS are in them."""
    count = int(trace.count_events(*HOST) * len(steps) / max(1, len(trace.steps)))
    keep = max(1, len(steps) * MOST_CALLS // max(count, 1))
    if keep >= len(steps):
        return steps
    return tuple(steps[int(at)] for at in np.linspace(0, len(steps) - 1, keep).round())


def find_gaps(trace: Trace, rest: Intervals) -> Gaps:
    """Find what ends each gap, and who launched it."""
    rows = np.flatnonzero(trace.where(ON_DEVICE))
    known = np.where(trace.launch_ns[rows] == UNTOLD, np.iinfo(np.int64).max, trace.launch_ns[rows])
    rows = rows[np.lexsort((known, trace.start_ns[rows]))]
    begins = trace.start_ns[rows]
    at = np.searchsorted(begins, rest.end_ns, "left")
    ender = np.append(rows, NOBODY)[at]
    launch = np.where(ender >= 0, trace.launch_ns[ender], UNTOLD) if len(trace) else np.empty(0, np.int64)
    call = _find_calls(trace, launch)
    by = np.where(ender >= 0, trace.launched_by[ender], NOBODY)
    thread_of_lane = thread_of_lanes(trace)
    source = np.where(call >= 0, call, by)
    thread = np.where(source >= 0, thread_of_lane[trace.lane[source]], NOBODY)
    ended = np.where(call >= 0, trace.start_ns[call] + trace.duration_ns[call], launch)
    return Gaps(rest.start_ns, rest.end_ns, ender, call, np.where(launch == UNTOLD, UNTOLD, ended), thread)


def _find_calls(trace: Trace, launch_ns: I64) -> Rows:
    """Find the runtime's calls that begin at these moments, the longest of several; -1 for none: (n,)."""
    calls = np.flatnonzero(trace.where(("runtime",)))
    calls = calls[np.lexsort((trace.duration_ns[calls], trace.start_ns[calls]))]
    at = np.searchsorted(trace.start_ns[calls], launch_ns, "right") - 1
    near_call = np.append(calls, NOBODY)[at]
    hit = (at >= 0) & (near_call >= 0) & (launch_ns != UNTOLD)
    return np.where(hit & (trace.start_ns[near_call] == launch_ns), near_call, NOBODY)


class Reader:
    """Reads gaps: `read_gaps` of those whose host calls it was made with."""

    def __init__(self, trace: Trace, rest: Intervals) -> None:
        self.trace = trace
        rows = np.flatnonzero(trace.where(HOST) & (trace.duration_ns > 0))
        start, end = trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows]
        rows = rows[rest.before_ns(end) > rest.before_ns(start)]
        thread_of_lane = thread_of_lanes(trace)
        thread = thread_of_lane[trace.lane[rows]]
        self.threads = read_threads(trace, rows, thread)
        marked = trace.lane[trace.where(("step",))]
        counts = np.bincount(thread, minlength=1)
        self.main = int(thread_of_lane[marked[0]]) if marked.size else int(counts.argmax())
        self.order = [self.main, *(int(at) for at in np.argsort(-counts, kind="stable") if at != self.main)]
        self._marks = mark_names(trace.names)
        self._own = np.array([is_own_frame(name) for name in trace.names] or [False])
        self._around_steps = self._find_around_steps(rows)

    def _find_around_steps(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return a mask (n,) of the profiler's frames that hold most of a step which begins in them: they were not seen
        to end, and are not what goes on in it."""
        trace = self.trace
        steps = np.flatnonzero(trace.where(("step",)))
        steps = steps[np.argsort(trace.start_ns[steps], kind="stable")]
        begins, middles = trace.start_ns[steps], trace.start_ns[steps] + trace.duration_ns[steps] // 2
        start, end = trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows]
        holds = end >= np.append(middles, np.iinfo(np.int64).max)[np.searchsorted(begins, start, "left")]
        mask = np.zeros(len(trace), np.bool_)
        mask[rows[holds & (self._marks[trace.name[rows]] & BIT["profiler"] > 0)]] = True
        return mask

    def read_gaps(self, gaps: Gaps) -> Reading:
        """Read the gaps until what ends each was launched, and behind that as time after the launch."""
        bound = np.clip(np.where(gaps.launched_ns == UNTOLD, gaps.end_ns, gaps.launched_ns), gaps.start_ns, gaps.end_ns)
        numbers = np.arange(len(gaps))
        host = Pieces(gaps.start_ns, bound, numbers)
        after = Pieces(bound, gaps.end_ns, numbers).drop_empty()
        parts = []
        thread = np.where(gaps.thread < 0, self.main, gaps.thread)
        for number in np.unique(thread).tolist():
            parts.append(self._read_on(number, host.take(thread == number).drop_empty()))
        long = after.end_ns - after.start_ns >= LATE_NS
        parts.append(_unseen(after.take(~long), launched=True))
        if long.any():
            late = self._read_on(self.main, after.take(long))
            parts.append(replace(late, launched=np.ones(len(late.pieces), np.bool_)))
        return join_readings(parts)[0]

    def _read_on(self, first: int, pieces: Pieces) -> Reading:
        """Read pieces on a thread; where it does nothing, or waits for others, on the next that does something."""
        parts: list[Reading] = []
        for number in [first, *(number for number in self.order if number != first)]:
            if not len(pieces) or number not in self.threads:
                continue
            reading = self._read_thread(self.threads[number], pieces)
            busy = (reading.row >= 0) & ~waits_elsewhere(reading.marks)
            parts.append(take_reading(reading, busy))
            pieces = reading.pieces.take(~busy)
        if len(pieces):  # nobody was busy: who waited, if any did
            parts.append(self._read_thread(self.threads[first], pieces) if first in self.threads else _unseen(pieces))
        return join_readings(parts)[0]

    def _read_thread(self, thread: HostThread, pieces: Pieces) -> Reading:
        parts, place = thread.split(pieces)
        unique, back = np.unique(place, return_inverse=True)
        marks, frame, operator = self._look_around(thread, unique)
        rows = np.append(thread.nesting.rows, NOBODY)
        none = np.zeros(len(parts), np.bool_)
        return Reading(parts, rows[place], marks[back], rows[frame[back]], rows[operator[back]], none)

    def _look_around(self, thread: HostThread, place: Rows) -> tuple[I32, Rows, Rows]:
        """Return the marks of these places and all around them, the nearest own frame and the nearest operator."""
        trace, nesting = self.trace, thread.nesting
        marks = np.zeros(place.size, np.int32)
        frame = np.full(place.size, NOBODY, np.int64)
        operator = frame.copy()
        is_operator = trace.where(("host_op",))
        alive, at = np.flatnonzero(place >= 0), place[place >= 0]
        while alive.size:
            rows = nesting.rows[at]
            names = trace.name[rows]
            own = np.where(self._around_steps[rows], self._marks[names] & ~BIT["profiler"], self._marks[names])
            marks[alive] |= own | np.where(trace.kind[rows] == LOADING, BIT["loading"], 0).astype(np.int32)
            new = self._own[names] & (frame[alive] < 0)
            frame[alive[new]] = at[new]
            new = is_operator[rows] & (operator[alive] < 0)
            operator[alive[new]] = at[new]
            at = nesting.parent[at]
            alive, at = alive[at >= 0], at[at >= 0]
        return marks, frame, operator


def _unseen(pieces: Pieces, launched: bool = False) -> Reading:
    """Return pieces of which nothing was recorded."""
    nobody = np.full(len(pieces), NOBODY, np.int64)
    flags = np.full(len(pieces), launched, np.bool_)
    return Reading(pieces, nobody, np.zeros(len(pieces), np.int32), nobody, nobody, flags)


def waits_elsewhere(marks: I32) -> npt.NDArray[np.bool_]:
    """Return which pieces are a thread's waiting for another thread, and nothing else."""
    waits: npt.NDArray[np.bool_] = (marks & BIT["elsewhere"] > 0) & (marks & (BIT["elsewhere"] - 1) == 0)
    return waits


def take_reading(reading: Reading, wanted: npt.NDArray[np.generic]) -> Reading:
    """Return some of what was read."""
    columns = (reading.row, reading.marks, reading.frame, reading.operator, reading.launched)
    return Reading(reading.pieces.take(wanted), *(column[wanted] for column in columns))


def join_readings(parts: list[Reading]) -> tuple[Reading, Rows]:
    """Join what was read of different pieces, in order of time; and that order."""
    if not parts:
        none = np.empty(0, np.int64)
        return Reading(Pieces(none, none, none), none, none.astype(np.int32), none, none, none.astype(np.bool_)), none
    times = ("start_ns", "end_ns", "gap")
    pieces = Pieces(*(np.concatenate([getattr(part.pieces, name) for part in parts]) for name in times))
    names = ("row", "marks", "frame", "operator", "launched")
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    order = np.argsort(pieces.start_ns, kind="stable")
    return take_reading(Reading(pieces, *columns), order), order
