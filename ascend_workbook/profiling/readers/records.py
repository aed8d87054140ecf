"""One event of a Chrome trace as far as it is used, and many of them from JSON text at once.

msgspec fills typed records and passes over what nobody asked for, some five times as fast as dicts are made; `ph`
tells it which record, so that of counters and other unused events nothing is made at all. What does not fit its types
(a float as `tid`, NaN, an event without `ph` or that is no object) goes through json, with the same result.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Optional, Union

import msgspec

from ascend_workbook.profiling.readers.values import LIMIT, nanoseconds_of

Label = Union[int, str, None]
RAW = msgspec.Raw(b"")
UNKNOWN = -1
#: `ph` of what is known to the format and not used here: samples, marks, objects, asynchronous spans, ...
UNUSED = tuple("bneSTpFtPNODRc()Vv,=")


class Arguments(msgspec.Struct, gc=False):
    """The `args` that are used; `dims`, `types`, `stack`, `ranks` as JSON text, ids -1 (UNKNOWN) where there are none.
    From `collective` on they tell of collectives: those of NCCL's kernels, and the peer of a piece of one on an NPU."""

    task: Optional[str] = msgspec.field(name="Task Type", default=None)
    name: object = None
    dims: msgspec.Raw = msgspec.field(name="Input Dims", default=RAW)
    types: msgspec.Raw = msgspec.field(name="Input type", default=RAW)
    stack: msgspec.Raw = msgspec.field(name="Call stack", default=RAW)
    external: Label = msgspec.field(name="External id", default=UNKNOWN)
    external_old: Label = msgspec.field(name="external id", default=UNKNOWN)
    correlation: Label = UNKNOWN
    connection: Label = msgspec.field(name="connection_id", default=UNKNOWN)
    device: Label = None
    stream: Label = None
    collective: Label = msgspec.field(name="Collective name", default=None)
    group: Label = msgspec.field(name="Process Group Name", default=None)
    ranks: msgspec.Raw = msgspec.field(name="Process Group Ranks", default=RAW)
    number: Label = msgspec.field(name="Seq", default=None)
    elements: Label = msgspec.field(name="In msg nelems", default=None)
    dtype: Label = None
    peer: Label = msgspec.field(name="dst rank", default=None)


NONE = Arguments()
#: Of each argument: its field, its key in the file, and what it is where the file has none
_ARGUMENTS = [(field.name, field.encode_name, field.default) for field in msgspec.structs.fields(Arguments)]


class Record(msgspec.Struct, gc=False, tag_field="ph", tag=""):
    """Any event. `ts` and `dur` are JSON text, for a float64 of epoch microseconds resolves 0.25 us only."""


class Complete(Record, gc=False, tag="X"):
    name: str = ""
    cat: Optional[str] = None
    pid: Label = None
    tid: Label = None
    ts: msgspec.Raw = RAW
    dur: msgspec.Raw = RAW
    args: Optional[Arguments] = None


class Begin(Record, gc=False, tag="B"):
    """The first half of what is told in two: complete with its End."""

    name: str = ""
    cat: Optional[str] = None
    pid: Label = None
    tid: Label = None
    ts: msgspec.Raw = RAW
    args: Optional[Arguments] = None


class End(Record, gc=False, tag="E"):
    pid: Label = None
    tid: Label = None
    ts: msgspec.Raw = RAW


class Arrow(Record, gc=False):
    """One end of an arrow (a flow)."""

    cat: Optional[str] = None
    pid: Label = None
    tid: Label = None
    ts: msgspec.Raw = RAW
    id: Label = None


class Tail(Arrow, gc=False, tag="s"):
    pass


class Head(Arrow, gc=False, tag="f"):
    pass


class Instant(Record, gc=False, tag="i"):
    name: str = ""


class OldInstant(Instant, gc=False, tag="I"):
    """An instant by its old letter."""


class Counter(Record, gc=False, tag="C"):
    """A counter's value: nearly half of what a trace of an NPU at level 2 holds, and not used."""


class Metadata(Record, gc=False, tag="M"):
    name: str = ""
    pid: Label = None
    args: Optional[Arguments] = None


KINDS: tuple[type[Record], ...] = (Complete, Begin, End, Tail, Head, Instant, OldInstant, Counter, Metadata)
_UNUSED = tuple(msgspec.defstruct("Unused", (), bases=(Record,), gc=False, tag=letter) for letter in UNUSED)
_BY_LETTER = {str(kind.__struct_config__.tag): kind for kind in KINDS}
_NO_ARROWS = tuple(msgspec.defstruct("Unused", (), bases=(Record,), gc=False, tag=letter) for letter in "sf")
_OTHERS = tuple(kind for kind in KINDS if not issubclass(kind, Arrow))
_DECODERS: dict[bool, msgspec.json.Decoder[list[Record]]] = {
    True: msgspec.json.Decoder(list[Union[KINDS + _UNUSED]]),  # type: ignore[misc]
    False: msgspec.json.Decoder(list[Union[_OTHERS + _NO_ARROWS + _UNUSED]]),  # type: ignore[misc]
}


def parse_records(text: bytes, arrows: bool = True) -> list[Record]:
    """Return the events of a JSON list; what is no object is left out. Without `arrows` they are as all that is unused.
    Raises ValueError for broken JSON (json.JSONDecodeError with the place), and UnicodeDecodeError."""
    if not text.isascii():
        text.decode("utf-8")  # msgspec does not look at what it passes over
    try:
        return _DECODERS[arrows].decode(text)
    except (msgspec.MsgspecError, RecursionError):
        pass  # json reads what is only unusual, and says of what is broken where that is
    try:
        entries = json.loads(text.decode("utf-8"), parse_float=str)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    parsed = [make_record(entry) for entry in entries if isinstance(entry, dict)]
    return parsed if arrows else [Record() if isinstance(entry, Arrow) else entry for entry in parsed]


def make_record(entry: dict[str, object]) -> Record:
    """Make the record of one event that json read, floats as texts."""
    letter = entry.get("ph")
    kind = _BY_LETTER.get(letter) if isinstance(letter, str) else None
    return kind(**{name: _READ[name](entry) for name in kind.__struct_fields__}) if kind else Record()


def _make_arguments(entry: dict[str, object]) -> Arguments | None:
    args = entry.get("args")
    if not isinstance(args, dict):
        return None
    values: dict[str, Any] = {
        name: _raw_of(args, key) if isinstance(default, msgspec.Raw) else _to_label(args.get(key, default))
        for name, key, default in _ARGUMENTS
    }
    return Arguments(**{**values, "task": str(args.get("Task Type") or ""), "name": args.get("name")})


def _to_label(value: object) -> Label:
    return value if value is None or isinstance(value, (int, str)) else str(value)


def _raw_of(owner: dict[str, object], key: str) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(owner[key]).encode()) if key in owner else RAW


_READ = {
    "name": lambda entry: str(entry.get("name", "")),
    "cat": lambda entry: str(entry.get("cat") or ""),
    "pid": lambda entry: _to_label(entry.get("pid")),
    "tid": lambda entry: _to_label(entry.get("tid")),
    "id": lambda entry: _to_label(entry.get("id")),
    "ts": lambda entry: _raw_of(entry, "ts"),
    "dur": lambda entry: _raw_of(entry, "dur"),
    "args": _make_arguments,
}


def pair_halves(halves: Sequence[Union[Begin, End]]) -> tuple[list[Complete], int]:
    """Return complete events in order of their beginnings, and how many halves found no other."""
    at_ns = nanoseconds_of([half.ts for half in halves]).tolist() if halves else []
    open_ones: dict[tuple[Label, Label], list[tuple[int, Begin]]] = {}
    complete_events: dict[int, Complete] = {}
    lost = 0
    for at in sorted(range(len(halves)), key=at_ns.__getitem__):
        half = halves[at]
        stack = open_ones.setdefault((half.pid, half.tid), [])
        if at_ns[at] <= -LIMIT:
            lost += 1
        elif isinstance(half, Begin):
            stack.append((at, half))
        elif stack:
            begun_at, begin = stack.pop()
            microseconds, rest = divmod(at_ns[at] - at_ns[begun_at], 1000)
            took = msgspec.Raw(f"{microseconds}.{rest:03d}".encode())
            event = Complete(begin.name, begin.cat, begin.pid, begin.tid, begin.ts, took, begin.args)
            complete_events[begun_at] = event
        else:
            lost += 1
    return [complete_events[at] for at in sorted(complete_events)], lost + sum(map(len, open_ones.values()))
