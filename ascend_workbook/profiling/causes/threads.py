"""What each host thread does at every moment: the innermost call going on, by interval arithmetic over all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.trace import Trace, order_by_code

Rows = npt.NDArray[np.int64]
HOST = ("host_op", "runtime", "python", "loading", "annotation")
NOBODY = -1


@dataclass(frozen=True)
class Pieces:
    """Pieces of time in order, columns (n,): [start, end) in nanoseconds, and `gap`, of which gap each is one."""

    start_ns: I64
    end_ns: I64
    gap: Rows

    def __len__(self) -> int:
        return int(self.gap.size)

    def take(self, wanted: npt.NDArray[np.generic]) -> Pieces:
        """Return some of the pieces."""
        return Pieces(self.start_ns[wanted], self.end_ns[wanted], self.gap[wanted])

    def drop_empty(self) -> Pieces:
        """Return those that last."""
        return self.take(self.end_ns > self.start_ns)


class HostThread:
    """The calls of one thread, nested: `at` any moment the innermost one is its place in `nesting`, or NOBODY."""

    def __init__(self, start_ns: I64, duration_ns: I64, rows: Rows) -> None:
        self.nesting = Nesting(start_ns, duration_ns, rows)
        ends, parent, count = self.nesting.end_ns, self.nesting.parent, rows.size
        above = np.append(ends, np.iinfo(np.int64).max)[parent]
        parent = np.where(above > ends, parent, NOBODY)
        # of what happens at one moment ends come first, the inner before the outer, then beginnings, the outer first
        moments = np.concatenate([ends[::-1], self.nesting.start_ns])
        order = np.argsort(moments, kind="stable")
        self._moments = moments[order]
        self._owner = np.concatenate([parent[::-1], np.arange(count)])[order]

    def split(self, pieces: Pieces) -> tuple[Pieces, Rows]:
        """Split pieces where another call becomes the innermost; return them and that call's place each."""
        first = np.searchsorted(self._moments, pieces.start_ns, "right") - 1
        count = np.searchsorted(self._moments, pieces.end_ns, "left") - first
        piece = np.repeat(np.arange(len(pieces)), count)
        at = np.arange(piece.size) + np.repeat(first - np.cumsum(count) + count, count)
        moments = np.concatenate([[np.iinfo(np.int64).min], self._moments, [np.iinfo(np.int64).max]])
        start = np.maximum(moments[at + 1], pieces.start_ns[piece])
        end = np.minimum(moments[at + 2], pieces.end_ns[piece])
        owner = np.append(self._owner, NOBODY)[at]
        is_some = end > start
        return Pieces(start[is_some], end[is_some], pieces.gap[piece][is_some]), owner[is_some].astype(np.int64)


def thread_of_lanes(trace: Trace) -> Rows:
    """Return for each lane the number of its thread: torch_npu writes a thread once for Python and once for CANN."""
    numbers: dict[str, int] = {}
    texts = [re.sub(r"^(Python|CANN) ", "", lane) if trace.dialect == "ascend" else lane for lane in trace.lanes]
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts] or [0], np.int64)


def read_threads(trace: Trace, rows: Rows, thread: Rows) -> dict[int, HostThread]:
    """Return the threads of these rows (n,), each of which belongs to `thread` (n,), by number."""
    threads = {}
    order = order_by_code(thread)
    cuts = np.flatnonzero(np.diff(thread[order])) + 1
    for part in np.split(order, cuts) if rows.size else []:
        chosen = rows[part]
        threads[int(thread[part[0]])] = HostThread(trace.start_ns[chosen], trace.duration_ns[chosen], chosen)
    return threads
