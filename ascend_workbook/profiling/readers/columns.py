"""The events of a trace as columns: whole numbers in numpy, each text once. An event takes 52 bytes at most."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.native.scanner import Order, Scanner, Shares
from ascend_workbook.profiling.readers.records import (
    NONE,
    RAW,
    UNKNOWN,
    Arguments,
    Arrow,
    Begin,
    Complete,
    Counter,
    End,
    Head,
    Instant,
    Label,
    Metadata,
    Record,
    Tail,
    pair_halves,
)
from ascend_workbook.profiling.readers.values import nanoseconds_of
from ascend_workbook.profiling.trace import I32, Detail

MEMORY = "[memory]"
FLOW = "async_npu"
FAR = 2**62
NOBODY = 2**32 - 1
#: An event's arguments about collectives, where there are none
NOTHING = (None, None, b"", None, None, None, None)
NOT_CALLED = (b"", b"", b"")
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


class Collector:
    """Takes batches of records, gives Events: of them and of what the scanner took of the same trace."""

    def __init__(self, scanner: Scanner | None = None, window: Window | None = None) -> None:
        self._window = window
        self._names, self._origins, self._called = Interned(), Interned(), Interned({NOT_CALLED: 0})
        self._places, self._ids, self._details = Interned(), Interned(), Interned({NOTHING: 0})
        self._columns: list[tuple[I32, I32, I32, I32, I64, I64, I64, I64]] = []
        self._flows: list[tuple[I32, I64, I32, I64]] = []
        self._halves: list[Union[Begin, End]] = []
        self._processes: dict[Label, str] = {}
        self._memory_records = 0
        self._order, self._flow_order, self._scanner = Order(), Order(), scanner
        tables = (self._names, self._origins, self._called, self._details, self._places)
        self._shares = Shares(scanner, *tables) if scanner else None

    def take_batch(self, batch: Sequence[Record]) -> None:
        complete = [record for record in batch if type(record) is Complete]
        if complete:
            self._add_complete(complete)
        if len(complete) < len(batch):
            others = [record for record in batch if type(record) is not Complete and type(record) is not Counter]
            self._add_others(others)

    def collect_events(self) -> Events:
        """Return all that was taken; to be called once, for beginnings and ends become events here."""
        paired, unpaired = pair_halves(self._halves)
        if paired:
            self._add_complete(paired)
        (name, origin, *others), flows = self._join_columns()
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

    def _add_complete(self, batch: list[Complete]) -> None:
        if self._window:
            batch = [
                event for event, reaches in zip(batch, self._reach_window(batch, [e.dur for e in batch])) if reaches
            ]
        self._settle_scanner_events()
        count = len(batch)
        args = [event.args or NONE for event in batch]
        origins = [(e.pid, e.tid, a.device, a.stream, e.cat, a.task) for e, a in zip(batch, args)]
        external = self._number_labels([a.external for a in args], [a.external_old for a in args])
        correlation = self._number_labels([a.correlation for a in args], [a.connection for a in args])
        called = [
            NOT_CALLED if a.dims is RAW and a.stack is RAW else (bytes(a.dims), bytes(a.types), bytes(a.stack))
            for a in args
        ]
        name = self._names.encode_keys([event.name for event in batch], count)
        origin, call = self._origins.encode_keys(origins, count), self._called.encode_keys(called, count)
        start, duration = nanoseconds_of([e.ts for e in batch]), nanoseconds_of([e.dur for e in batch])
        self._columns.append((name, origin, call, self._encode_details(args), external, correlation, start, duration))
        self._order.add_rows(count)

    def _reach_window(self, batch: Sequence[Complete | Arrow], durations: Sequence[msgspec.Raw] = ()) -> list[bool]:
        """Return which of these reach into the window; what tells no usable time does, and is counted later."""
        begin, end = self._window or (-FAR, FAR)
        start = nanoseconds_of([event.ts for event in batch])
        lasts = nanoseconds_of(durations) if durations else np.zeros(start.size, np.int64)
        odd = (start < 0) | (lasts < 0)  # none, out of range, or backwards
        reaches: list[bool] = (odd | ((start < end) & (start + lasts >= begin))).tolist()
        return reaches

    def _encode_details(self, args: list[Arguments]) -> I32:
        """Return the code of each event's detail; few events have any, so only these are looked at."""
        code = np.zeros(len(args), np.int32)
        peers, collectives = [a.peer for a in args], [a.collective for a in args]
        if peers.count(None) == collectives.count(None) == len(args):
            return code
        at = [at for at, both in enumerate(zip(peers, collectives)) if both != (None, None)]
        detailed = [args[position] for position in at]
        keys = [(a.collective, a.group, bytes(a.ranks), a.dtype, a.number, a.elements, a.peer) for a in detailed]
        code[at] = self._details.encode_keys(keys, len(keys))
        return code

    def _add_others(self, rest: Sequence[Record]) -> None:
        arrows = [record for record in rest if type(record) is Tail or type(record) is Head]
        flows = [record for record in arrows if record.cat == FLOW]
        if flows and self._window:
            flows = [record for record, reaches in zip(flows, self._reach_window(flows)) if reaches]
        if flows:
            self._settle_scanner_events()
            is_head = np.array([type(record) is Head for record in flows], np.int32)
            places = self._places.encode_keys([(record.pid, record.tid) for record in flows], len(flows))
            number, at_ns = self._number_labels([flow.id for flow in flows]), nanoseconds_of([f.ts for f in flows])
            self._flows.append((is_head, number, places, at_ns))
            self._flow_order.add_rows(len(flows))
        if len(arrows) < len(rest):
            self._add_marks([record for record in rest if type(record) is not Tail and type(record) is not Head])

    def _add_marks(self, rest: Sequence[Record]) -> None:
        self._halves += [record for record in rest if isinstance(record, (Begin, End))]
        self._memory_records += sum(isinstance(record, Instant) and record.name == MEMORY for record in rest)
        for record in rest:
            if isinstance(record, Metadata) and record.name == "process_name" and record.args is not None:
                self._processes[record.pid] = str(record.args.name)

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
