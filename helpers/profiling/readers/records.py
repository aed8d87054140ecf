"""One event of a Chrome trace as far as it is used, and many of them from JSON text at once.

msgspec fills typed records and passes over what nobody asked for, some five times as fast as dicts are made. What
does not fit its types (a float as `tid`, NaN, an event that is no object) goes through json, with the same result.
"""

from __future__ import annotations

import json
from typing import Any, Optional, Union

import msgspec

Label = Union[int, str, None]
RAW = msgspec.Raw(b"")
UNKNOWN = -1


class Arguments(msgspec.Struct, gc=False):
    """The `args` that are used; `dims` and `ranks` as JSON text, ids -1 (UNKNOWN) where there are none. From
    `collective` on they tell of collectives: those of NCCL's kernels, and the peer of a piece of one on an NPU."""

    task: Optional[str] = msgspec.field(name="Task Type", default=None)
    name: Any = None
    dims: msgspec.Raw = msgspec.field(name="Input Dims", default=RAW)
    external: Label = msgspec.field(name="External id", default=UNKNOWN)
    external_old: Label = msgspec.field(name="external id", default=UNKNOWN)
    correlation: Label = UNKNOWN
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


class Record(msgspec.Struct, gc=False):
    """An event; `ts` and `dur` as JSON text, for a float64 of epoch microseconds resolves 0.25 us only."""

    name: str = ""
    ph: Optional[str] = None
    cat: Optional[str] = None
    pid: Label = None
    tid: Label = None
    ts: msgspec.Raw = RAW
    dur: msgspec.Raw = RAW
    id: Label = None
    args: Optional[Arguments] = None


_DECODER = msgspec.json.Decoder(list[Record])


def records(text: bytes) -> list[Record]:
    """The events of a JSON list; what is no object is left out.

    Raises ValueError for broken JSON (json.JSONDecodeError with the place), and UnicodeDecodeError.
    """
    if not text.isascii():
        text.decode("utf-8")  # msgspec does not look at what it passes over
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        pass  # json reads what is only unusual, and says of what is broken where that is
    try:
        found = json.loads(text.decode("utf-8"), parse_float=str)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return [_record(one) for one in found if isinstance(one, dict)]


def _record(one: dict[str, Any]) -> Record:
    args = one.get("args")
    return Record(
        name=str(one.get("name", "")),
        ph=one.get("ph") if isinstance(one.get("ph"), str) else None,
        cat=str(one.get("cat") or ""),
        pid=_label(one.get("pid")),
        tid=_label(one.get("tid")),
        ts=_raw(one, "ts"),
        dur=_raw(one, "dur"),
        id=_label(one.get("id")),
        args=_arguments(args) if isinstance(args, dict) else None,
    )


def _arguments(args: dict[str, Any]) -> Arguments:
    return Arguments(
        task=str(args.get("Task Type") or ""),
        name=args.get("name"),
        dims=_raw(args, "Input Dims"),
        external=_label(args.get("External id", UNKNOWN)),
        external_old=_label(args.get("external id", UNKNOWN)),
        correlation=_label(args.get("correlation", UNKNOWN)),
        device=_label(args.get("device")),
        stream=_label(args.get("stream")),
        collective=_label(args.get("Collective name")),
        group=_label(args.get("Process Group Name")),
        ranks=_raw(args, "Process Group Ranks"),
        number=_label(args.get("Seq")),
        elements=_label(args.get("In msg nelems")),
        dtype=_label(args.get("dtype")),
        peer=_label(args.get("dst rank")),
    )


def _label(value: Any) -> Label:
    return value if value is None or isinstance(value, (int, str)) else str(value)


def _raw(owner: dict[str, Any], key: str) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(owner[key]).encode()) if key in owner else RAW
