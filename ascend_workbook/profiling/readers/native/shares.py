"""What a scanner took of a trace, in the numbers of who takes the rest.

The scanner numbers texts as they stand in the file, `"a"` and `"\\u0061"` apart; here they get the number of what they
mean, in order of appearance among all, whoever took them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.native import scanner as of
from ascend_workbook.profiling.readers.native.scanner import Scanner
from ascend_workbook.profiling.readers.times import nanoseconds_of

I32 = npt.NDArray[np.int32]
Columns = tuple[npt.NDArray[Any], ...]


class Shares:
    """`tables`: who numbers names, origins, calls, details and places, each a mapping that numbers what it lacks."""

    def __init__(self, scanner: Scanner, *tables: dict[Any, int]) -> None:
        self._scanner = scanner
        self._stacks: list[bytes] = []
        called = partial(_parse_call, self._stacks)  # no method: a circle would keep the scanner's memory
        meaning: tuple[Callable[[bytes], Hashable], ...] = (
            json.loads,
            _parse_labels,
            called,
            _parse_detail,
            _parse_labels,
        )
        self._tables = list(zip(tables, (of.NAMES, of.ORIGINS, of.CALLED, of.DETAILS, of.PLACES), meaning))
        self._numbers: list[list[int]] = [[] for _ in tables]

    def number_new_texts(self) -> tuple[int, int]:
        """Number the texts that are new, to be called before others get any; return how many rows of events and of
        flows there are by now."""
        self._stacks += self._scanner.table_texts(of.STACKS, len(self._stacks))
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
            column[[row for row, _ in odd]] = nanoseconds_of([text for _, text in odd])
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
