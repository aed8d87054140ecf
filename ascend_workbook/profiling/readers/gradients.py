"""Which operator of backward belongs to which of forward: torch_npu's timeline links them by their sequence numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.trace import Trace

#: A link's two ends are events of the same number; torch_npu writes them under this category
LINK = re.compile(rb'\{[^{}]*"fwdbwd"[^{}]*\}')
#: A larger timeline is not read twice for it
LARGEST = 2**28
#: An operator's beginning, its number in the order of forward, and of backward the thread of its operator, else 0
NUMBERED = re.compile(rb'"ts": "([\d.]+)"[^{}]*"args": \{"Sequence number": (\d+), "Fwd thread id": (\d+)')
Links = npt.NDArray[np.int64]
NO_LINKS: Links = np.empty((0, 2), np.int64)


class Numbers(NamedTuple):
    """Operators, columns (n,): their rows, their numbers in the order of forward, and of such as are of backward the
    number of the thread whose operator they derive, else 0."""

    rows: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]
    thread: npt.NDArray[np.int64]

    @property
    def of_backward(self) -> npt.NDArray[np.bool_]:
        """Return which are of backward: (n,)."""
        return np.asarray(self.thread != 0, np.bool_)


NO_NUMBERS = Numbers(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


def read_gradients(trace: Trace) -> Links:
    """Return the rows of the operators of forward, and of those of backward that work out their gradients: (n, 2);
    none where the timeline links none, or cannot be read again."""
    path = Path(trace.source)
    try:
        if path.suffix != ".json" or path.stat().st_size > LARGEST:
            return NO_LINKS
        events = [json.loads(match) for match in LINK.findall(path.read_bytes())]
        ends = {
            phase: {event["id"]: _read_ns(event["ts"]) for event in events if event["ph"] == phase} for phase in "sf"
        }
    except (OSError, ValueError, KeyError, TypeError):
        return NO_LINKS
    both = sorted(ends["s"].keys() & ends["f"].keys(), key=str)
    hosts = np.flatnonzero(trace.where(("host_op",)))
    hosts = hosts[np.argsort(trace.start_ns[hosts], kind="stable")]
    if not both or not hosts.size:
        return NO_LINKS
    rows = [_find_rows(trace, hosts, np.array([ends[phase][number] for number in both], np.int64)) for phase in "sf"]
    links = np.stack(rows, 1)
    return links[(links >= 0).all(1)]


def read_numbers(trace: Trace) -> Numbers:
    """Return the operators that have a number in the order of forward: those of backward have that of the operator
    whose gradient they work out, as often as they do; none where the timeline tells none, or cannot be read again."""
    path = Path(trace.source)
    try:
        if path.suffix != ".json" or path.stat().st_size > LARGEST:
            return NO_NUMBERS
        events = [
            (_read_ns(at.decode()), int(number), int(thread))
            for at, number, thread in NUMBERED.findall(path.read_bytes())
        ]
    except (OSError, ValueError):
        return NO_NUMBERS
    hosts = np.flatnonzero(trace.where(("host_op",)))
    hosts = hosts[np.argsort(trace.start_ns[hosts], kind="stable")]
    if not events or not hosts.size:
        return NO_NUMBERS
    moments, numbers, threads = (np.array(column, np.int64) for column in zip(*events))
    rows = _find_rows(trace, hosts, moments)
    known = rows >= 0
    return Numbers(rows[known], numbers[known], threads[known])


def _find_rows(trace: Trace, hosts: npt.NDArray[np.intp], moments_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the row of the operator that begins at each moment, the last of several, or -1."""
    at = np.searchsorted(trace.start_ns[hosts], moments_ns, "right") - 1
    row = hosts[np.maximum(at, 0)]
    return np.where((at >= 0) & (trace.start_ns[row] == moments_ns), row, -1).astype(np.int64)


def _read_ns(microseconds: object) -> int:
    """Read a moment as the timeline writes it, `1795854835291911.711`."""
    whole, _, rest = str(microseconds).partition(".")
    return 1000 * int(whole) + int(f"{rest}000"[:3])
