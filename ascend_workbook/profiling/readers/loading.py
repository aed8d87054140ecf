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

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.columns import Collector, Columns, Events, Window
from ascend_workbook.profiling.readers.document import Document
from ascend_workbook.profiling.readers.native.scanner import Scanner
from ascend_workbook.profiling.readers.values import LIMIT, NO_TIME, OUT_OF_RANGE, format_call_stack, format_dtypes
from ascend_workbook.profiling.trace import I32, KINDS

I8 = npt.NDArray[np.int8]
NO_KIND = -1


@dataclass
class Loaded:
    """What a trace file holds. `members`: of the object around the events; `cut_at`, `damage`: see Document; `slower`:
    why the scanner had no part in it, empty where it had. `window`: what of it was loaded, None: all; `unread`: which
    of the Trace's events have an end outside it (unread.halves), where a reader looked for such."""

    path: Path
    is_list: bool
    members: dict[str, object]
    events: Events
    cut_at: int | None
    damage: Sentence | None = None
    slower: Scalar = ""
    left_out: Counter[str] = field(default_factory=Counter)
    window: Window | None = None
    unread: npt.NDArray[np.bool_] | None = None


def load_events(path: Path, window: Window | None = None) -> Loaded:
    """Load the events of a .json or .json.gz file; with a `window` those that reach into these nanoseconds of the file.
    Raises WorkbookError naming the file and the place of a fault."""
    scanner, slower = _make_scanner()
    if scanner and window:
        scanner.limit_to_window(*window)
    document, collector = Document(path, scanner=scanner), Collector(scanner, window)
    with without_garbage_collection():
        for batch in document.read_batches():
            collector.take_batch(batch, document.is_list)
        events = collector.collect_events()
    left_out = +(document.odd + collector.odd + Counter(unpaired=events.unpaired))  # what happened at all
    about = (path, document.is_list, document.members, events, document.cut_at, document.damage)
    return Loaded(*about, slower, left_out, window)


def _make_scanner() -> tuple[Scanner | None, Scalar]:
    """Return the scanner, or why there is none."""
    try:
        return Scanner(), ""
    except WorkbookError as why:
        return None, Sentence(why.key, **why.arguments)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Switch off the search for cycles: rows and records make none, and it would look at them again and again."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def base_ns(loaded: Loaded) -> int:
    """Return `baseTimeNanoseconds`: what the times of torch 2.x count from, 0 where they count from the epoch."""
    value = loaded.members.get("baseTimeNanoseconds") or 0
    if not isinstance(value, int) or not 0 <= value < LIMIT:
        raise WorkbookError("profiling.bad_base", path=str(loaded.path), value=str(value)[:40])
    return value


def keep_usable(loaded: Loaded, kind: I8, base: int = 0) -> tuple[Columns, I8]:
    """Return the columns of the events that have a kind and usable times, and their kinds; the others are counted, and
    `loaded` lets go of them. Raises WorkbookError where none is left."""
    rows = np.flatnonzero(kind != NO_KIND)
    start, duration = (column[rows] for column in loaded.events.columns[-2:])
    if not (rows.size and start.min() >= max(0, -base) and start.max() < LIMIT - base and duration.min() >= 0):
        is_usable = _mask_usable(loaded, start, duration, base)
        rows, start, duration = rows[is_usable], start[is_usable], duration[is_usable]
    if not rows.size:
        raise WorkbookError("profiling.no_events", path=str(loaded.path))
    others = [_take_rows(column, rows) for column in loaded.events.columns[:-2]]
    none = Columns(*(column[:0].copy() for column in loaded.events.columns))
    loaded.events = replace(loaded.events, columns=none)  # their memory is free from here on
    return Columns(*[*others, start + base if base else start, duration]), kind[rows]


def _mask_usable(loaded: Loaded, start: I64, duration: I64, base: int) -> npt.NDArray[np.bool_]:
    """Return which of these times are usable; the others are counted."""
    known = (start != NO_TIME) & (duration != NO_TIME)
    backwards = known & (duration < 0) & (duration != OUT_OF_RANGE)
    absolute = np.where(start > -LIMIT, start + base, start)
    near = (absolute >= 0) & (absolute < LIMIT) & (duration != OUT_OF_RANGE)
    reasons = {"no_time": ~known, "negative_duration": backwards, "time_out_of_range": known & ~backwards & ~near}
    loaded.left_out.update({reason: int(rows.sum()) for reason, rows in reasons.items() if rows.any()})
    usable: npt.NDArray[np.bool_] = known & ~backwards & near
    return usable


def _take_rows(column: npt.NDArray[Any], rows: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return these rows of a column; of one that says the same in every row, none is written out."""
    return column[: rows.size] if column.strides == (0,) or rows.size == column.size else column[rows]


def number_kinds(kinds: Sequence[str | None]) -> I8:
    return np.array([NO_KIND if kind is None else KINDS.index(kind) for kind in kinds], np.int8)


def rename_kinds(kind: I8, events: Events, old_kinds: Sequence[str], find_kind: Callable[[str], str | None]) -> I8:
    """Return the kinds (n,) with those among `old_kinds` replaced by what `find_kind` makes of the event's name."""
    name, kind_of_name = events.columns.name, number_kinds([find_kind(name) for name in events.names])
    rows = np.flatnonzero((kind_of_name != NO_KIND)[name]) if name.size else np.empty(0, np.intp)
    rows = rows[np.isin(kind[rows], number_kinds(old_kinds))]
    kind = kind.copy()
    kind[rows] = kind_of_name[name[rows]]
    return kind


class Calls(NamedTuple):
    """What host operators were called with and from where; `code` (n,) counts in the lists, 0: nothing is known."""

    code: I32
    shapes: list[str]
    dtypes: list[str]
    stacks: list[str]


def calls_of(loaded: Loaded, columns: Columns, kind: I8, text_of: Callable[[object], str]) -> Calls:
    """Return the shapes, types and call stacks of host operators; `text_of` makes shapes of the JSON value."""
    code = np.where(np.isin(kind, number_kinds(("host_op", "loading"))), columns.called, 0).astype(np.int32)
    texts = []
    for raws, convert in zip(zip(*loaded.events.calls), (text_of, format_dtypes, format_call_stack)):
        meaning = {raw: convert(json.loads(raw, parse_float=str) if raw else "") for raw in set(raws)}
        texts.append([meaning[raw] for raw in raws])
    return Calls(code, *texts)
