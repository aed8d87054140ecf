"""The scanner of events, as Python calls it: pieces of a trace in, columns and the texts they count in out."""

from __future__ import annotations

import ctypes
import json
import os
import weakref
from collections.abc import Callable, Hashable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_workbook.machine import native
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.values import nanoseconds_of

SOURCE = Path(__file__).with_name("scanner.cpp")
#: The numbers of scanner.cpp's `trace_view`, in its order
COLUMNS = (np.int32,) * 4 + (np.int64,) * 4
FLOWS = (np.int32, np.int64, np.int32, np.int64)
NOTHING = (-1, -1, 0, 0, -1, -1, -(2**63), -(2**63), -1, -1, -1, -(2**63))
FLOW, ASIDES, ODD_TIMES, ODD_BYTES, MEMORY_RECORDS, COUNTERS = 8, 12, 13, 14, 15, 28
NAMES, ORIGINS, CALLED, DETAILS, PLACES, STACKS = range(16, 28, 2)


class View(ctypes.Structure):
    """`struct View` of scanner.cpp."""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_int64)]


@cache
def _load_library() -> ctypes.CDLL:
    loaded = native.load_library(SOURCE)
    if loaded.library is None:
        raise loaded.why or AssertionError
    library = loaded.library
    library.trace_new.restype, library.trace_new.argtypes = ctypes.c_void_p, [ctypes.c_uint64]
    library.trace_free.restype, library.trace_free.argtypes = None, [ctypes.c_void_p]
    library.trace_within.restype = None
    library.trace_within.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    library.trace_scan.restype = ctypes.c_int64
    library.trace_scan.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int]
    library.trace_view.restype, library.trace_view.argtypes = View, [ctypes.c_void_p, ctypes.c_int]
    return library


class Scanner:
    """What it takes of a trace it keeps in memory of its own, which its columns show and keep alive. Raises
    WorkbookError where it is not compiled and cannot be."""

    def __init__(self) -> None:
        self._library = _load_library()
        self._handle = self._library.trace_new(int.from_bytes(os.urandom(8), "little"))
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, self._library.trace_free, self._handle)

    def limit_to_window(self, begin_ns: int, end_ns: int) -> None:
        """Take, from here on, no event that does not reach into these nanoseconds of the file."""
        self._library.trace_within(self._handle, begin_ns, end_ns)

    def scan_events(
        self, text: bytearray, size: int, arrows: bool, behind_event: bool = False
    ) -> tuple[int, list[bytes]]:
        """Take events from the beginning of `size` bytes on, behind which a 0 stands; return how many bytes those take,
        and the texts of those among them that the reader in Python takes: beginnings and ends, processes' names. 0
        bytes: the next is not for it. `behind_event`: a comma comes first."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(text))
        taken = self._library.trace_scan(self._handle, address, size, arrows, behind_event)
        if taken < 0:
            raise MemoryError
        view = self._view_of(ASIDES)
        places = self._array_of(ASIDES, np.int64).tolist() if view.size else []
        return taken, [bytes(text[begin:end]) for begin, end in zip(places[::2], places[1::2])]

    def count_rows(self) -> tuple[int, int]:
        """Return the number of rows of events and of flows."""
        return self._view_of(0).size, self._view_of(FLOW).size

    def table_texts(self, table: int, since: int) -> list[bytes]:
        """Return the texts of a table from that number on."""
        ends = self._array_of(table + 1, np.int64)[since:].tolist()
        if len(ends) < 2:
            return []
        joined = ctypes.string_at((self._view_of(table).data or 0) + ends[0], ends[-1] - ends[0])
        return [joined[begin - ends[0] : end - ends[0]] for begin, end in zip(ends, ends[1:])]

    def event_columns(self) -> list[npt.NDArray[Any]]:
        """Return name, origin, called, detail, external, correlation, start_ns, duration_ns: (n,) each."""
        return [self._array_of(which, dtype) for which, dtype in enumerate(COLUMNS)]

    def flow_columns(self) -> list[npt.NDArray[Any]]:
        """Return is_end, id, place, at_ns: (n,) each, in memory of their own."""
        return [self._array_of(FLOW + which, dtype).copy() for which, dtype in enumerate(FLOWS)]

    def odd_times(self) -> list[tuple[int, int, bytes]]:
        """Return (row, 0: start, 1: duration, 2: of a flow; JSON text) of each time that is told in an unusual way."""
        places = self._array_of(ODD_TIMES, np.int64).reshape(-1, 3).tolist()
        view = self._view_of(ODD_BYTES)
        texts = ctypes.string_at(view.data, view.size) if view.size else b""
        return [(place // 4, place % 4, texts[begin:end]) for place, begin, end in places]

    def count_memory_records(self) -> int:
        return int(self._view_of(MEMORY_RECORDS).size)

    def counter_events(self) -> list[dict[str, Any]]:
        """Return the counters that are wanted (columns.COUNTERS), as json has them, numbers as texts."""
        view = self._view_of(COUNTERS)
        text = ctypes.string_at(view.data, view.size - 1) if view.size else b""
        events: list[dict[str, Any]] = json.loads(b"[%b]" % text, parse_float=str, parse_int=str)
        return events

    def _view_of(self, which: int) -> View:
        view: View = self._library.trace_view(self._handle, which)
        return view

    def _array_of(self, which: int, dtype: Any) -> npt.NDArray[Any]:
        view = self._view_of(which)
        if not view.data or not view.size:
            return np.broadcast_to(np.array(NOTHING[which] if which < len(NOTHING) else 0, dtype), (view.size,))
        held = (ctypes.c_char * (view.size * np.dtype(dtype).itemsize)).from_address(view.data)
        held.owner = self  # as long as an array shows the memory
        return np.frombuffer(held, dtype)


I32 = npt.NDArray[np.int32]
Columns = tuple[npt.NDArray[Any], ...]


class Shares:
    """`tables`: who numbers names, origins, calls, details and places, each a mapping that numbers what it lacks."""

    def __init__(self, scanner: Scanner, *tables: dict[Any, int]) -> None:
        self._scanner = scanner
        self._stacks: list[bytes] = []
        called = partial(_parse_call, self._stacks)  # no method: a circle would keep the scanner's memory
        meaning: list[Callable[[bytes], Hashable]]
        meaning = [json.loads, _parse_labels, called, _parse_detail, _parse_labels]
        self._tables = list(zip(tables, (NAMES, ORIGINS, CALLED, DETAILS, PLACES), meaning))
        self._numbers: list[list[int]] = [[] for _ in tables]

    def number_new_texts(self) -> tuple[int, int]:
        """Number the texts that are new, to be called before others get any; return how many rows of events and of
        flows there are by now."""
        self._stacks += self._scanner.table_texts(STACKS, len(self._stacks))
        for numbers, (table, which, meaning) in zip(self._numbers, self._tables):
            numbers += [table[meaning(text)] for text in self._scanner.table_texts(which, len(numbers))]
        return self._scanner.count_rows()

    def event_columns(self) -> Columns:
        """Return name, origin, called, detail, external, correlation, start_ns, duration_ns: (n,) each."""
        *codes, external, correlation, start_ns, duration_ns = self._scanner.event_columns()
        name, origin, called, detail = map(_renumber_codes, codes, self._numbers)
        start_ns, duration_ns = self._with_odd(start_ns, 0), self._with_odd(duration_ns, 1)
        return name, origin, called, detail, external, correlation, start_ns, duration_ns

    def flow_columns(self) -> Columns:
        """Return is_end, id, place, at_ns: (n,) each."""
        is_end, number, place, at_ns = self._scanner.flow_columns()
        return is_end, number, _renumber_codes(place, self._numbers[4]), self._with_odd(at_ns, 2)

    def _with_odd(self, column: I64, which: int) -> I64:
        odd = [(row, text) for row, kind, text in self._scanner.odd_times() if kind == which]
        if odd:
            column = column if column.flags.writeable else column.copy()
            column[[row for row, _ in odd]] = nanoseconds_of([json.loads(text, parse_float=str) for _, text in odd])
        return column


def _parse_call(stacks: list[bytes], text: bytes) -> tuple[bytes, bytes, bytes]:
    stack, (dims, types) = int.from_bytes(text[:4], "little"), text[4:].split(b"\0")[:2] if text else (b"", b"")
    return dims, types, stacks[stack]


def _parse_labels(text: bytes) -> tuple[Any, ...]:
    return tuple(json.loads(label) if label else None for label in text.split(b"\0")[:-1])


def _parse_detail(text: bytes) -> tuple[Any, ...]:
    collective, group, ranks, *numbers = text.split(b"\0")[:-1] if text else [b""] * 7
    first, others = (
        tuple(json.loads(label) if label else None for label in some) for some in ((collective, group), numbers)
    )
    return (*first, ranks, *others)


def _renumber_codes(code: I32, numbers: list[int]) -> I32:
    known = np.array(numbers, np.int32)
    return code if np.array_equal(known, np.arange(known.size)) else known[code]


class Order:
    """Whose rows follow whose: spans of those of the scanner and of those that others took."""

    def __init__(self) -> None:
        self._spans: list[tuple[bool, int, int]] = []
        self._ends = {True: 0, False: 0}

    def extend_span(self, scanned: bool, end: int) -> None:
        """Let the rows up to `end` that are in no span yet follow, of the scanner's or of the others'."""
        if end > self._ends[scanned]:
            self._spans.append((scanned, self._ends[scanned], end))
            self._ends[scanned] = end

    def add_rows(self, count: int) -> None:
        """Let so many rows of others follow."""
        self.extend_span(False, self._ends[False] + count)

    def join_columns(self, scanned: Columns, others: Columns) -> Iterator[npt.NDArray[Any]]:
        """Yield column after column in this order."""
        for scanned_column, other_column in zip(scanned, others):
            parts = [
                (scanned_column if is_scanned else other_column)[begin:end] for is_scanned, begin, end in self._spans
            ]
            yield parts[0] if len(parts) == 1 else np.concatenate([other_column[:0], *parts])
