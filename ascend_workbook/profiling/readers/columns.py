"""The events of a trace as columns: whole numbers in numpy, each text once. An event takes 52 bytes at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.document import Event
from ascend_workbook.profiling.readers.native.scanner import Order, Scanner, Shares
from ascend_workbook.profiling.readers.records import UNKNOWN, Label, dict_in, json_in, label_in, pair_halves, text_in
from ascend_workbook.profiling.readers.values import LIMIT, nanoseconds_of, to_nanoseconds
from ascend_workbook.profiling.trace import I32, Detail, Sample

MEMORY = "[memory]"
#: How the counters begin that are read; most of a file's are others
COUNTERS = ("AI Core Freq", "HBM ", "LLC ")
FLOW = "async_npu"
FAR = 2**62
NOBODY = 2**32 - 1
#: An event's arguments about collectives, where there are none
NOTHING = (None, None, b"", None, None, None, None)
NOT_CALLED = (b"", b"", b"")
#: What torch and what CANN call the type and the number of a collective's elements
DTYPE, ELEMENTS = ("dtype", "data_type"), ("In msg nelems", "count")
#: Arguments of which one says that the event is a collective or a piece of one
TELLING = ("Collective name", "dst rank", "count")
#: The file's nanoseconds [begin, end)
Window = tuple[int, int]


class Interned(dict[Any, int]):
    """Numbers for whatever it is asked for, in order of appearance."""

    def __missing__(self, key: Hashable) -> int:
        self[key] = number = len(self)
        return number

    def encode_keys(self, keys: Iterable[Hashable], count: int) -> I32:
        return np.fromiter(map(self.__getitem__, keys), np.int32, count)


class Columns(NamedTuple):
    """Complete events in the file's order, each column (n,): `name` counts in Events.names, `lane` in its lanes,
    `group` in its groups, `called` in its calls, `detail` in its details; `external` and `correlation` (on an NPU the
    connection) are the file's numbers, -1: none; times in nanoseconds, times.NO_TIME or times.OUT_OF_RANGE."""

    name: I32
    lane: I32
    group: I32
    called: I32
    detail: I32
    external: I64
    correlation: I64
    start_ns: I64
    duration_ns: I64


class Flows(NamedTuple):
    """Both ends of the `async_npu` arrows, each column (n,): `place` counts in Events.places."""

    is_end: I32
    id: I64
    place: I32
    at_ns: I64


@dataclass(frozen=True)
class Events:
    """All of a trace that is used. Lanes are (pid, tid, device, stream), groups (pid, cat, Task Type), places
    (pid, tid); `calls` the JSON texts of input shapes, their types and the call stack, each empty for none, and the
    first of all three; `details` what is told of collectives; `unpaired`: halves that lack the other."""

    columns: Columns
    flows: Flows
    names: list[str]
    lanes: list[tuple[Label, Label, Label, Label]]
    groups: list[tuple[Label, str, str]]
    calls: list[tuple[bytes, bytes, bytes]]
    details: list[Detail]
    places: list[tuple[Label, Label]]
    processes: dict[Label, str]
    memory_records: int
    unpaired: int
    counters: tuple[Sample, ...]


class Collector:
    """Takes batches of events as json reads them, gives Events: of them and of what the scanner took of the same trace.
    `arrows`: whether the file is of those whose arrows link events."""

    def __init__(self, scanner: Scanner | None = None, window: Window | None = None) -> None:
        self._window = window
        self._names, self._origins, self._called = Interned(), Interned(), Interned({NOT_CALLED: 0})
        self._places, self._ids, self._details = Interned(), Interned(), Interned({NOTHING: 0})
        self._columns: list[tuple[I32, I32, I32, I32, I64, I64, I64, I64]] = []
        self._flows: list[tuple[I32, I64, I32, I64]] = []
        self._halves: list[Event] = []
        self.odd: Counter[str] = Counter()  # what was cut, by PRF304's words
        self._processes: dict[Label, str] = {}
        self._memory_records = 0
        self._counters: list[Event] = []
        self._order, self._flow_order, self._scanner = Order(), Order(), scanner
        tables = (self._names, self._origins, self._called, self._details, self._places)
        self._shares = Shares(scanner, *tables) if scanner else None

    def take_batch(self, batch: Sequence[Event], arrows: bool = True) -> None:
        by_letter: dict[str, list[Event]] = {}
        for event in batch:
            letter = event.get("ph")
            by_letter.setdefault(letter if isinstance(letter, str) else "", []).append(event)
        self._add_complete(by_letter.get("X", []))
        if arrows and ("s" in by_letter or "f" in by_letter):
            self._add_flows([event for event in batch if event.get("ph") in ("s", "f") and event.get("cat") == FLOW])
        self._halves += [event for event in batch if event.get("ph") in ("B", "E")]
        for letter in ("i", "I"):
            self._memory_records += sum(event.get("name") == MEMORY for event in by_letter.get(letter, ()))
        self._counters += [e for e in by_letter.get("C", ()) if str(e.get("name")).startswith(COUNTERS)]
        for event in by_letter.get("M", ()):
            if event.get("name") == "process_name" and (args := dict_in(event, "args")):
                self._processes[label_in(event, "pid")] = text_in(args, "name", self.odd)

    def collect_events(self) -> Events:
        """Return all that was taken; to be called once, for beginnings and ends become events here."""
        paired, unpaired = pair_halves(self._halves)
        self._add_complete(paired)
        (name, origin, *others), flows = self._join_columns()
        scanned = self._scanner.counter_events() if self._scanner else []
        lanes, groups = Interned(), Interned()
        lane = lanes.encode_keys([origin[:4] for origin in self._origins], len(self._origins))
        group = groups.encode_keys(
            [(pid, cat or "", task or "") for pid, _, _, _, cat, task in self._origins], len(self._origins)
        )
        return Events(
            columns=Columns(name, lane[origin], group[origin], *others),
            flows=Flows(*flows),
            names=list(self._names),
            lanes=list(lanes),
            groups=list(groups),
            calls=list(self._called),
            details=[detail_of(detail_key) for detail_key in self._details],
            places=list(self._places),
            processes=self._processes,
            memory_records=self._memory_records + (self._scanner.count_memory_records() if self._scanner else 0),
            unpaired=unpaired,
            counters=tuple(_read_samples([*self._counters, *scanned])),
        )

    def _join_columns(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the columns of events (name, origin, called, ...) and of flows, in the file's order."""
        self._settle_scanner_events()
        events, flows = _join_parts(self._columns, "iiiiqqqq"), _join_parts(self._flows, "iqiq")
        if not self._shares:
            return events, flows
        scanned = self._shares.event_columns(), self._shares.flow_columns()
        return list(self._order.join_columns(scanned[0], events)), list(
            self._flow_order.join_columns(scanned[1], flows)
        )

    def _settle_scanner_events(self) -> None:
        """Put what the scanner took by now before what follows here."""
        if self._shares:
            events, flows = self._shares.number_new_texts()
            self._order.extend_span(True, events)
            self._flow_order.extend_span(True, flows)

    def _add_complete(self, batch: Sequence[Event]) -> None:
        if not batch:
            return
        start, duration = (nanoseconds_of([event.get(key) for event in batch]) for key in ("ts", "dur"))
        if self._window:
            rows = self._reach_window(start, duration)
            batch, start, duration = [batch[row] for row in rows.tolist()], start[rows], duration[rows]
        self._settle_scanner_events()
        count, odd = len(batch), self.odd
        args: list[Event] = [dict_in(event, "args") for event in batch]
        name = self._names.encode_keys([text_in(event, "name", odd) for event in batch], count)
        origins = [
            (*(label_in(e, key) for key in ("pid", "tid")), *(label_in(a, key) for key in ("device", "stream")))
            + (text_in(e, "cat", odd), text_in(a, "Task Type", odd))
            for e, a in zip(batch, args)
        ]
        called = [
            tuple(json_in(a, key, odd) for key in ("Input Dims", "Input type", "Call stack"))
            if "Input Dims" in a or "Call stack" in a
            else NOT_CALLED
            for a in args
        ]
        details = [NOTHING if a.keys().isdisjoint(TELLING) else self._detail_in(a) for a in args]
        numbers = []
        for first, second in (("External id", "external id"), ("correlation", "connection_id")):
            own, others = ([label_in(a, key, UNKNOWN) for a in args] for key in (first, second))
            numbers.append(self._number_labels(own, others))
        origin, call = self._origins.encode_keys(origins, count), self._called.encode_keys(called, count)
        detail = self._details.encode_keys(details, count)
        self._columns.append((name, origin, call, detail, numbers[0], numbers[1], start, duration))
        self._order.add_rows(count)

    def _detail_in(self, args: Event) -> tuple[Any, ...]:
        first, group, number, peer = (
            label_in(args, key) for key in ("Collective name", "Process Group Name", "Seq", "dst rank")
        )
        dtype, elements = (label_in(args, _last_key(args, keys)) for keys in (DTYPE, ELEMENTS))
        if first is None and peer is None and None in (dtype, elements):
            return NOTHING
        return (first, group, json_in(args, "Process Group Ranks", self.odd), dtype, number, elements, peer)

    def _reach_window(self, start: I64, lasts: I64) -> npt.NDArray[np.intp]:
        """Return which of these reach into the window; what tells no usable time does, and is counted later."""
        begin, end = self._window or (-FAR, FAR)
        odd = (start < 0) | (lasts < 0)  # none, out of range, or backwards
        return np.flatnonzero(odd | ((start < end) & (start + lasts >= begin)))

    def _add_flows(self, flows: Sequence[Event]) -> None:
        at_ns = nanoseconds_of([flow.get("ts") for flow in flows])
        if self._window:
            rows = self._reach_window(at_ns, np.zeros(at_ns.size, np.int64))
            flows, at_ns = [flows[row] for row in rows.tolist()], at_ns[rows]
        self._settle_scanner_events()
        is_head = np.array([flow["ph"] == "f" for flow in flows], np.int32)
        places = self._places.encode_keys([(label_in(f, "pid"), label_in(f, "tid")) for f in flows], len(flows))
        self._flows.append((is_head, self._number_labels([label_in(flow, "id") for flow in flows]), places, at_ns))
        self._flow_order.add_rows(len(flows))

    def _number_labels(self, labels: list[Label], otherwise: list[Label] | None = None) -> I64:
        """Whole numbers as they are; what `otherwise` says or -1 for none; other texts by numbers from -FAR down."""
        none = labels.count(UNKNOWN)
        if none == len(labels):
            return np.full(none, UNKNOWN, np.int64) if otherwise is None else self._number_labels(otherwise)
        label_array: npt.NDArray[Any] = np.array(labels)
        plain = label_array.dtype == np.int64 and label_array.min() > -FAR
        numbers: I64 = label_array if plain else np.array([self._number_label(label) for label in labels], np.int64)
        if otherwise is not None and otherwise.count(UNKNOWN) < len(otherwise):
            numbers = np.where(numbers == UNKNOWN, self._number_labels(otherwise), numbers)
        return numbers

    def _number_label(self, label: Label) -> int:
        if label is None:
            return UNKNOWN
        if isinstance(label, str) and label.isdecimal():
            label = int(label)
        fits = isinstance(label, int) and -FAR < label < 2**63
        return int(label) if fits else -FAR - self._ids[label]


def _last_key(args: Event, keys: tuple[str, ...]) -> str:
    """Return which of the keys comes last in the event."""
    return next((key for key in reversed(args) if key in keys), keys[0])


def detail_of(arguments: tuple[Label, Label, bytes, Label, Label, Label, Label]) -> Detail:
    collective, group, ranks, dtype, *numbers = arguments
    words = ["" if word is None else str(word) for word in (collective, group, dtype)]
    number, elements, peer = map(parse_whole_number, numbers)
    return Detail(words[0], words[1], ranks.decode(), words[2], number, elements, peer)


def parse_whole_number(label: Label) -> int:
    """Return a whole number that fits 63 bits, or -1 for anything else: 2**32 - 1 stands for no rank."""
    number = int(label) if label is not None and str(label).isdecimal() else UNKNOWN
    return number if 0 <= number < FAR and number != NOBODY else UNKNOWN


def _join_parts(parts: Sequence[tuple[object, ...]], types: str) -> tuple[Any, ...]:
    """Join column after column, so that one's parts are freed before the next is joined; `types`: numpy's letters."""
    columns = enumerate(types)
    return tuple(np.concatenate([np.empty(0, letter), *(part[at] for part in parts)]) for at, letter in columns)


def _read_samples(events: Iterable[Event]) -> Iterator[Sample]:
    """Yield the counters' samples; what has no usable time, or another number of values than one, is no sample."""
    for event in events:
        try:
            (value,) = map(float, dict_in(event, "args").values())
            at_ns = to_nanoseconds(event.get("ts"))
        except (TypeError, ValueError, OverflowError):
            continue
        if isfinite(value) and 0 <= at_ns < LIMIT:
            yield Sample(str(event["name"]), at_ns, value)
