"""Whether a part of a trace that was read holds all that tells of the steps that are looked at.

The device runs behind the host. A kernel whose launch lies before what was read belongs to an earlier step, though it
runs in a later one's time; and kernels that a step launched may run behind what was read. Each shows a number that
only one end has. On a stream kernels run in the order of their launches, which tells such ones from those of which
the file itself lacks the other end.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.columns import Columns, Window
from ascend_workbook.profiling.readers.records import UNKNOWN
from ascend_workbook.profiling.readers.times import LIMIT
from ascend_workbook.profiling.trace import I32, UNTOLD, Trace

BOOLS = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
MEASURED = ("compute", "communication", "copy")
FAR = 2**62


class Span(Protocol):
    """Places of the first and last step, and what tells of them (cutting.Part)."""

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def begin_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def launched_ns(self) -> int: ...


def find_unread_halves(columns: Columns, calls: Rows, device: Rows, call: I32) -> BOOLS:
    """Return which events (n,) have a number whose other end was not read: of `device` those whose call is not among
    `calls`, `call` (device,) being what was found; of the calls those that launched nothing, though others of their
    name did. None where no call has a number."""
    is_half = np.zeros(columns.name.size, np.bool_)
    calls = calls[columns.correlation[calls] != UNKNOWN]
    if calls.size:
        is_half[device] = (columns.correlation[device] != UNKNOWN) & (call < 0)
        launch = np.isin(columns.name[calls], columns.name[call[call >= 0]]) if (call >= 0).any() else True
        is_half[calls] = ~np.isin(columns.correlation[calls], columns.correlation[device]) & launch
    return is_half


def read_far_enough(trace: Trace, unread: BOOLS | None, part: Span, window: Window) -> bool:
    """Return whether what was read, [begin, end) in nanoseconds, holds all of the part; `unread` (n,) is what
    find_unread_halves returns.
    """
    begin, end = window
    if (begin > -LIMIT // 2 and part.begin_ns < begin) or (end < LIMIT // 2 and part.end_ns >= end):
        return False
    if unread is None or not unread.size:
        return True
    device = trace.where(MEASURED)
    before = begin > -LIMIT // 2 and _launched_before(trace, unread, device, part)
    return not (before or (end < LIMIT // 2 and _runs_behind(trace, unread, device, part)))


def _launched_before(trace: Trace, unread: BOOLS, device: BOOLS, part: Span) -> bool:
    """Return whether in the part's time a kernel runs whose launch was not read, and none before it on its lane was."""
    known = device & ~unread & ((trace.launch_ns != UNTOLD) | (trace.launched_by >= 0))
    first = np.full(len(trace.lanes), FAR, np.int64)
    np.minimum.at(first, trace.lane[known], trace.start_ns[known])
    meanwhile = (trace.start_ns <= part.end_ns) & (trace.start_ns + trace.duration_ns >= part.begin_ns)
    return bool((device & unread & meanwhile & (trace.start_ns < first[trace.lane])).any())


def _runs_behind(trace: Trace, unread: BOOLS, device: BOOLS, part: Span) -> bool:
    """Return whether what was launched until then was not read, and not every lane has come to later launches."""
    own_rows = (trace.step >= part.first) & (trace.step <= part.last)
    open_ones = unread & ~device & (trace.start_ns <= part.launched_ns)
    if not open_ones.any():
        launches_known = (
            trace.launch_ns[device & own_rows] != UNTOLD
        ).any()  # then what a step launched is known to be there
        return not launches_known and _has_not_come(trace, device, part)
    latest = _latest_launches(trace, device)
    lanes = np.unique(trace.lane[device & own_rows])
    reached = int(latest[lanes].min()) if lanes.size else -FAR
    return bool((trace.start_ns[open_ones] >= reached).any())


def _has_not_come(trace: Trace, device: BOOLS, part: Span) -> bool:
    """Return whether launches are known, but none of what was read of the device lies behind the part."""
    known = device & (trace.launched_by >= 0)
    return bool(known.any()) and int(_latest_launches(trace, device).max()) < trace.steps[part.last].end_ns


def _latest_launches(trace: Trace, device: BOOLS) -> I64:
    """Return when the last of each lane's kernels was launched: (lanes,)."""
    by = trace.launched_by
    launch = np.where(trace.launch_ns != UNTOLD, trace.launch_ns, np.where(by >= 0, trace.start_ns[by], -FAR))
    latest = np.full(len(trace.lanes), -FAR, np.int64)
    np.maximum.at(latest, trace.lane[device], launch[device])
    return latest
