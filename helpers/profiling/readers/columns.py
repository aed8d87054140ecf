"""The events of a trace as columns: whole numbers in numpy, each text once. An event takes 52 bytes at most."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from helpers.profiling.intervals import I64
from helpers.profiling.readers.native.scanner import Scanner
from helpers.profiling.readers.native.shares import Order, Shares
from helpers.profiling.readers.pairs import pairs
from helpers.profiling.readers.records import (
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
)
from helpers.profiling.readers.times import Times, nanoseconds_of
from helpers.profiling.trace import I32, Detail

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

    def codes(self, keys: Iterable[Hashable], count: int) -> I32:
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
        self._starts, self._durations, self._moments = Times(), Times(), Times()
        self._columns: list[tuple[I32, I32, I32, I32, I64, I64]] = []
        self._flows: list[tuple[I32, I64, I32]] = []
        self._halves: list[Union[Begin, End]] = []
        self._processes: dict[Label, str] = {}
        self._memory_records = 0
        self._order, self._flow_order, self._scanner = Order(), Order(), scanner
        tables = (self._names, self._origins, self._called, self._details, self._places)
        self._shares = Shares(scanner, *tables) if scanner else None

    def take(self, batch: Sequence[Record]) -> None:
        complete = [one for one in batch if type(one) is Complete]
        if complete:
            self._complete(complete)
        if len(complete) < len(batch):
            self._others([one for one in batch if type(one) is not Complete and type(one) is not Counter])

    def events(self) -> Events:
        """All that was taken; to be called once, for beginnings and ends become events here."""
        paired, unpaired = pairs(self._halves)
        if paired:
            self._complete(paired)
        (name, origin, *others), flows = self._joined()
        lanes, groups = Interned(), Interned()
        lane = lanes.codes([origin[:4] for origin in self._origins], len(self._origins))
        group = groups.codes(
            [(pid, cat or "", task or "") for pid, _, _, _, cat, task in self._origins], len(self._origins)
        )
        return Events(
            columns=Columns(name, lane[origin], group[origin], *others),
            flows=Flows(*flows),
            names=list(self._names),
            lanes=list(lanes),
            groups=list(groups),
            calls=list(self._called),
            details=[detail_of(told) for told in self._details],
            places=list(self._places),
            processes=self._processes,
            memory_records=self._memory_records + (self._scanner.count_memory_records() if self._scanner else 0),
            unpaired=unpaired,
        )

    def _joined(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """The columns of events (name, origin, called, ...) and of flows, in the file's order."""
        self._settle()
        times = self._starts.nanoseconds(), self._durations.nanoseconds()
        events = (*_joined(self._columns, "iiiiqq"), *times)
        flows = (*_joined(self._flows, "iqi"), self._moments.nanoseconds())
        if not self._shares:
            return events, flows
        mine = self._shares.events(), self._shares.flows()
        return list(self._order.joined(mine[0], events)), list(self._flow_order.joined(mine[1], flows))

    def _settle(self) -> None:
        """What the scanner took by now comes before what follows here."""
        if self._shares:
            events, flows = self._shares.learn()
            self._order.to(True, events)
            self._flow_order.to(True, flows)

    def _complete(self, batch: list[Complete]) -> None:
        if self._window:
            batch = [one for one, reaches in zip(batch, self._reaches(batch, [e.dur for e in batch])) if reaches]
        self._settle()
        count = len(batch)
        args = [one.args or NONE for one in batch]
        origins = [(e.pid, e.tid, a.device, a.stream, e.cat, a.task) for e, a in zip(batch, args)]
        external = self._numbers([a.external for a in args], [a.external_old for a in args])
        correlation = self._numbers([a.correlation for a in args], [a.connection for a in args])
        called = [
            NOT_CALLED if a.dims is RAW and a.stack is RAW else (bytes(a.dims), bytes(a.types), bytes(a.stack))
            for a in args
        ]
        self._columns.append(
            (
                self._names.codes([one.name for one in batch], count),
                self._origins.codes(origins, count),
                self._called.codes(called, count),
                self._detail(args),
                external,
                correlation,
            )
        )
        self._starts.add([one.ts for one in batch])
        self._durations.add([one.dur for one in batch])
        self._order.add(count)

    def _reaches(self, batch: Sequence[Complete | Arrow], durations: Sequence[Any] = ()) -> list[bool]:
        """Which of these reach into the window; what tells no usable time does, and is counted later."""
        begin, end = self._window or (-FAR, FAR)
        start = nanoseconds_of([one.ts for one in batch])
        lasts = nanoseconds_of(durations) if durations else np.zeros(start.size, np.int64)
        odd = (start < 0) | (lasts < 0)  # none, out of range, or backwards
        found: list[bool] = (odd | ((start < end) & (start + lasts >= begin))).tolist()
        return found

    def _detail(self, args: list[Arguments]) -> I32:
        """Few events have any, so only these are looked at."""
        code = np.zeros(len(args), np.int32)
        peers, collectives = [a.peer for a in args], [a.collective for a in args]
        if peers.count(None) == collectives.count(None) == len(args):
            return code
        at = [at for at, both in enumerate(zip(peers, collectives)) if both != (None, None)]
        some = [args[one] for one in at]
        told = [(a.collective, a.group, bytes(a.ranks), a.dtype, a.number, a.elements, a.peer) for a in some]
        code[at] = self._details.codes(told, len(told))
        return code

    def _others(self, rest: Sequence[Record]) -> None:
        arrows = [one for one in rest if type(one) is Tail or type(one) is Head]
        flows = [one for one in arrows if one.cat == FLOW]
        if flows and self._window:
            flows = [one for one, reaches in zip(flows, self._reaches(flows)) if reaches]
        if flows:
            self._settle()
            is_head = np.array([type(one) is Head for one in flows], np.int32)
            places = self._places.codes([(one.pid, one.tid) for one in flows], len(flows))
            self._flows.append((is_head, self._numbers([one.id for one in flows]), places))
            self._moments.add([one.ts for one in flows])
            self._flow_order.add(len(flows))
        if len(arrows) < len(rest):
            self._marks([one for one in rest if type(one) is not Tail and type(one) is not Head])

    def _marks(self, rest: Sequence[Record]) -> None:
        self._halves += [one for one in rest if isinstance(one, (Begin, End))]
        self._memory_records += sum(isinstance(one, Instant) and one.name == MEMORY for one in rest)
        for one in rest:
            if isinstance(one, Metadata) and one.name == "process_name" and one.args is not None:
                self._processes[one.pid] = str(one.args.name)

    def _numbers(self, labels: list[Label], otherwise: list[Label] | None = None) -> I64:
        """Whole numbers as they are; what `otherwise` says or -1 for none; other texts by numbers from -FAR down."""
        none = labels.count(UNKNOWN)
        if none == len(labels):
            return np.full(none, UNKNOWN, np.int64) if otherwise is None else self._numbers(otherwise)
        told: npt.NDArray[Any] = np.array(labels)
        plain = told.dtype == np.int64 and told.min() > -FAR
        found: I64 = told if plain else np.array([self._number(one) for one in labels], np.int64)
        if otherwise is not None and otherwise.count(UNKNOWN) < len(otherwise):
            found = np.where(found == UNKNOWN, self._numbers(otherwise), found)
        return found

    def _number(self, label: Label) -> int:
        if label is None:
            return UNKNOWN
        if isinstance(label, str) and label.isdecimal():
            label = int(label)
        fits = isinstance(label, int) and -FAR < label < 2**63
        return int(label) if fits else -FAR - self._ids[label]


def detail_of(told: tuple[Label, Label, bytes, Label, Label, Label, Label]) -> Detail:
    collective, group, ranks, dtype, *numbers = told
    words = ["" if word is None else str(word) for word in (collective, group, dtype)]
    number, elements, peer = map(whole, numbers)
    return Detail(words[0], words[1], ranks.decode(), words[2], number, elements, peer)


def whole(label: Label) -> int:
    """A whole number that fits 63 bits, or -1 for anything else: 2**32 - 1 stands for no rank."""
    number = int(label) if label is not None and str(label).isdecimal() else UNKNOWN
    return number if 0 <= number < FAR and number != NOBODY else UNKNOWN


def _joined(parts: Sequence[tuple[Any, ...]], types: str) -> list[Any]:
    """Column after column, for the parts of one are freed before the next is joined; `types` as numpy's letters."""
    return [np.concatenate([np.empty(0, of), *(part[at] for part in parts)]) for at, of in enumerate(types)]
