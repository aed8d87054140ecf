"""The scanner of events, as Python calls it: pieces of a trace in, columns and the texts they count in out."""

from __future__ import annotations

import ctypes
import os
import weakref
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from helpers import native

SOURCE = Path(__file__).with_name("scanner.cpp")
#: The numbers of scanner.cpp's `trace_view`, in its order
COLUMNS = (np.int32,) * 4 + (np.int64,) * 4
FLOWS = (np.int32, np.int64, np.int32, np.int64)
NOTHING = (-1, -1, 0, 0, -1, -1, -(2**63), -(2**63), -1, -1, -1, -(2**63))
FLOW, ASIDES, ODD_TIMES, ODD_BYTES, MEMORY_RECORDS = 8, 12, 13, 14, 15
NAMES, ORIGINS, CALLED, DETAILS, PLACES, STACKS = range(16, 28, 2)


class View(ctypes.Structure):
    """`struct View` of scanner.cpp."""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_int64)]


@cache
def _library() -> ctypes.CDLL:
    found = native.load(SOURCE)
    if found.library is None:
        raise found.why or AssertionError
    library = found.library
    library.trace_new.restype, library.trace_new.argtypes = ctypes.c_void_p, [ctypes.c_uint64]
    library.trace_free.restype, library.trace_free.argtypes = None, [ctypes.c_void_p]
    library.trace_within.restype = None
    library.trace_within.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    library.trace_scan.restype = ctypes.c_int64
    library.trace_scan.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int]
    library.trace_view.restype, library.trace_view.argtypes = View, [ctypes.c_void_p, ctypes.c_int]
    return library


class Scanner:
    """What it takes of a trace it keeps in memory of its own, which its columns show and keep alive.

    Raises WorkbookError where it is not compiled and cannot be."""

    def __init__(self) -> None:
        self._library = _library()
        self._handle = self._library.trace_new(int.from_bytes(os.urandom(8), "little"))
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, self._library.trace_free, self._handle)

    def within(self, begin_ns: int, end_ns: int) -> None:
        """From here on takes no event that does not reach into these nanoseconds of the file."""
        self._library.trace_within(self._handle, begin_ns, end_ns)

    def scan(self, text: bytearray, size: int, arrows: bool, behind_event: bool = False) -> tuple[int, list[bytes]]:
        """Takes events from the beginning of `size` bytes on, behind which a 0 stands; gives how many bytes those take,
        and the texts of those among them that the reader in Python takes: beginnings and ends, processes' names.
        0 bytes: the next is not for it. `behind_event`: a comma comes first."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(text))
        taken = self._library.trace_scan(self._handle, address, size, arrows, behind_event)
        if taken < 0:
            raise MemoryError
        view = self._view(ASIDES)
        places = self._array(ASIDES, np.int64).tolist() if view.size else []
        return taken, [bytes(text[begin:end]) for begin, end in zip(places[::2], places[1::2])]

    def sizes(self) -> tuple[int, int]:
        """Rows of events, rows of flows."""
        return self._view(0).size, self._view(FLOW).size

    def texts(self, table: int, since: int) -> list[bytes]:
        """The texts of a table from that number on."""
        ends = self._array(table + 1, np.int64)[since:].tolist()
        if len(ends) < 2:
            return []
        found = ctypes.string_at((self._view(table).data or 0) + ends[0], ends[-1] - ends[0])
        return [found[begin - ends[0] : end - ends[0]] for begin, end in zip(ends, ends[1:])]

    def events(self) -> list[npt.NDArray[Any]]:
        """name, origin, called, detail, external, correlation, start_ns, duration_ns: (n,) each."""
        return [self._array(which, of) for which, of in enumerate(COLUMNS)]

    def flows(self) -> list[npt.NDArray[Any]]:
        """is_end, id, place, at_ns: (n,) each, in memory of their own."""
        return [self._array(FLOW + which, of).copy() for which, of in enumerate(FLOWS)]

    def odd_times(self) -> list[tuple[int, int, bytes]]:
        """(row, 0: start, 1: duration, 2: of a flow; JSON text) of each time that is told in an unusual way."""
        found = self._array(ODD_TIMES, np.int64).reshape(-1, 3).tolist()
        view = self._view(ODD_BYTES)
        texts = ctypes.string_at(view.data, view.size) if view.size else b""
        return [(place // 4, place % 4, texts[begin:end]) for place, begin, end in found]

    def count_memory_records(self) -> int:
        return int(self._view(MEMORY_RECORDS).size)

    def _view(self, which: int) -> View:
        found: View = self._library.trace_view(self._handle, which)
        return found

    def _array(self, which: int, of: Any) -> npt.NDArray[Any]:
        view = self._view(which)
        if not view.data or not view.size:
            return np.broadcast_to(np.array(NOTHING[which] if which < len(NOTHING) else 0, of), (view.size,))
        held = (ctypes.c_char * (view.size * np.dtype(of).itemsize)).from_address(view.data)
        held.owner = self  # as long as an array shows the memory
        return np.frombuffer(held, of)
