"""A trace file's events, whatever wrote it, with what every dialect needs of them: usable times, kinds, texts."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from helpers.errors import WorkbookError
from helpers.profiling.intervals import I64
from helpers.profiling.readers.columns import Collector, Columns, Events, Window
from helpers.profiling.readers.document import Document
from helpers.profiling.readers.native.scanner import Scanner
from helpers.profiling.readers.times import LIMIT, NO_TIME, OUT_OF_RANGE
from helpers.profiling.readers.types import calls, dtypes
from helpers.profiling.trace import I32, KINDS
from helpers.words import Scalar

I8 = npt.NDArray[np.int8]
NO_KIND = -1


@dataclass
class Loaded:
    """What a trace file holds. `members`: of the object around the events; `cut_at`: see Document; `slower`: why the
    scanner had no part in it, empty where it had. `window`: what of it was loaded, None: all; `unread`: which of the
    Trace's events have an end outside it (unread.halves), where a reader looked for such."""

    path: Path
    is_list: bool
    members: dict[str, Any]
    events: Events
    cut_at: int | None
    slower: Scalar = ""
    left_out: Counter[str] = field(default_factory=Counter)
    window: Window | None = None
    unread: npt.NDArray[np.bool_] | None = None


def load(path: Path, window: Window | None = None) -> Loaded:
    """The events of a .json or .json.gz file; with a `window` those that reach into these nanoseconds of the file.

    Raises WorkbookError naming the file and the place of a fault."""
    scanner, slower = _scanner()
    if scanner and window:
        scanner.within(*window)
    document, collector = Document(path, scanner=scanner), Collector(scanner, window)
    with uncollected():
        for batch in document.batches():
            collector.take(batch)
        events = collector.events()
    left_out = Counter({"unpaired": events.unpaired} if events.unpaired else {})
    return Loaded(path, document.is_list, document.members, events, document.cut_at, slower, left_out, window)


def _scanner() -> tuple[Scanner | None, Scalar]:
    """The scanner, or why there is none."""
    try:
        return Scanner(), ""
    except WorkbookError as why:
        return None, {"say": why.key, "args": why.arguments}


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the search for cycles: rows and records make none, and it would look at them again and again."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def base_ns(loaded: Loaded) -> int:
    """`baseTimeNanoseconds`: what the times of torch 2.x count from, 0 where they count from the epoch."""
    value = loaded.members.get("baseTimeNanoseconds") or 0
    if not isinstance(value, int) or not 0 <= value < LIMIT:
        raise WorkbookError("profiling.bad_base", path=str(loaded.path), value=str(value)[:40])
    return value


def usable(loaded: Loaded, kind: I8, base: int = 0) -> tuple[Columns, I8]:
    """The columns of the events that have a kind and usable times, and their kinds; the others are counted, and
    `loaded` lets go of them.

    Raises WorkbookError where none is left.
    """
    rows = np.flatnonzero(kind != NO_KIND)
    start, duration = (column[rows] for column in loaded.events.columns[-2:])
    if not (rows.size and start.min() >= max(0, -base) and start.max() < LIMIT - base and duration.min() >= 0):
        kept = _usable(loaded, start, duration, base)
        rows, start, duration = rows[kept], start[kept], duration[kept]
    if not rows.size:
        raise WorkbookError("profiling.no_events", path=str(loaded.path))
    others = [_taken(column, rows) for column in loaded.events.columns[:-2]]
    none = Columns(*(column[:0].copy() for column in loaded.events.columns))
    loaded.events = replace(loaded.events, columns=none)  # their memory is free from here on
    return Columns(*[*others, start + base if base else start, duration]), kind[rows]


def _usable(loaded: Loaded, start: I64, duration: I64, base: int) -> npt.NDArray[np.bool_]:
    """Which of these times are usable; the others are counted."""
    known = (start != NO_TIME) & (duration != NO_TIME)
    backwards = known & (duration < 0) & (duration != OUT_OF_RANGE)
    absolute = np.where(start > -LIMIT, start + base, start)
    near = (absolute >= 0) & (absolute < LIMIT) & (duration != OUT_OF_RANGE)
    reasons = {"no_time": ~known, "negative_duration": backwards, "time_out_of_range": known & ~backwards & ~near}
    loaded.left_out.update({reason: int(of.sum()) for reason, of in reasons.items() if of.any()})
    usable: npt.NDArray[np.bool_] = known & ~backwards & near
    return usable


def _taken(column: npt.NDArray[Any], rows: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """These rows of a column; of one that says the same in every row, none is written out."""
    return column[: rows.size] if column.strides == (0,) or rows.size == column.size else column[rows]


def numbered(kinds: Sequence[str | None]) -> I8:
    return np.array([NO_KIND if kind is None else KINDS.index(kind) for kind in kinds], np.int8)


def renamed(kind: I8, name: npt.NDArray[np.int32], of: Sequence[str], by: Sequence[str | None]) -> I8:
    """Kinds (n,) in which those among `of` are what the event's name says, where it says anything: `by` one a name."""
    said = numbered(by)
    rows = np.flatnonzero((said != NO_KIND)[name]) if name.size else np.empty(0, np.intp)
    rows = rows[np.isin(kind[rows], numbered(of))]
    kind = kind.copy()
    kind[rows] = said[name[rows]]
    return kind


class Calls(NamedTuple):
    """What host operators were called with and from where; `code` (n,) counts in the lists, 0: nothing is known."""

    code: I32
    shapes: list[str]
    dtypes: list[str]
    stacks: list[str]


def calls_of(loaded: Loaded, columns: Columns, kind: I8, text_of: Callable[[Any], str]) -> Calls:
    """The shapes, types and call stacks of host operators; `text_of` makes shapes of the JSON value."""
    code = np.where(np.isin(kind, numbered(("host_op", "loading"))), columns.called, 0).astype(np.int32)
    texts = []
    for raws, of in zip(zip(*loaded.events.calls), (text_of, dtypes, calls)):
        meaning = {raw: of(json.loads(raw, parse_float=str) if raw else "") for raw in set(raws)}
        texts.append([meaning[raw] for raw in raws])
    return Calls(code, *texts)
