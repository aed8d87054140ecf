"""What the device was asked in one step of a rehearsal: kernels with their shapes, copies, and collectives by group."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Union

TASKS = "simulated_tasks.jsonl"
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """One operator as it was launched; types by CANN's names (`DT_BF16`). `turned`: the numbers of inputs whose last
    two dimensions lie the other way round in memory."""

    name: str
    inputs: tuple[Shape, ...]
    input_types: tuple[str, ...]
    outputs: tuple[Shape, ...]
    output_types: tuple[str, ...]
    stream: int = 0
    turned: tuple[int, ...] = ()


@dataclass(frozen=True)
class Copy:
    """One copy between host and device; `reads`: it brings a single value, for which the host waits."""

    reads: bool
    stream: int = 0


@dataclass(frozen=True)
class Collective:
    """One collective of one group: elements of a type, bytes that this rank sends to all others together. `rank`: its
    number in the group; `partners`: those of the ranks with which it exchanges anything."""

    name: str
    group: str
    count: int
    data_type: str
    sent: int
    received: int
    peers: int
    stream: int = 0
    rank: int = 0
    partners: tuple[int, ...] = ()


@dataclass(frozen=True)
class Mark:
    """An event, recorded on a stream: it comes when what was launched there is done."""

    stream: int
    number: int


@dataclass(frozen=True)
class Wait:
    """A stream waits for an event."""

    stream: int
    number: int


@dataclass(frozen=True)
class HostWait:
    """The host waits: for an event, or, with number 0, for a stream (-1: for all)."""

    stream: int
    number: int


Task = Union[Call, Copy, Collective, Mark, Wait, HostWait]
ORDERS: dict[str, type[Mark] | type[Wait] | type[HostWait]] = {"mark": Mark, "wait": Wait, "host_wait": HostWait}


@dataclass(frozen=True)
class Work:
    """The work of one rank in one step, in the order in which it was launched."""

    tasks: tuple[Task, ...]

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Return the operators."""
        return tuple(task for task in self.tasks if isinstance(task, Call))

    @cached_property
    def collectives(self) -> tuple[Collective, ...]:
        """Return the collectives."""
        return tuple(task for task in self.tasks if isinstance(task, Collective))

    @property
    def signature(self) -> tuple[Any, ...]:
        """Return what is the same of two ranks that do the same work."""
        exchanges = tuple((each.name, each.count, each.data_type, each.peers) for each in self.collectives)
        return (frozenset(Counter(self.calls).items()), exchanges)


def load_work(folder: Path) -> Work | None:
    """Read the newest recording below the folder; None where nothing was recorded."""
    files = sorted(folder.glob(f"PROF_*/host/data/{TASKS}"))
    if not files:
        return None
    lines = files[-1].read_text(encoding="utf-8").splitlines()
    return Work(tuple(_make_task(json.loads(line)) for line in lines))


def _make_task(fields: Mapping[str, Any]) -> Task:
    if fields["kind"] in ORDERS:
        return ORDERS[fields["kind"]](int(fields["stream"]), int(fields["number"]))
    if fields["kind"] == "collective":
        return _make_collective(fields)
    stream = int(fields.get("stream", 0))
    outputs = tuple(_parse_shapes(fields["output_shapes"], fields["output_types"]))
    inputs = tuple(_parse_shapes(fields["input_shapes"], fields["input_types"]))
    if fields["kind"] == "copy":
        return Copy(bool(inputs) and len(inputs) == 1, stream)
    return Call(
        str(fields["name"]),
        tuple(shape for shape, _ in inputs),
        tuple(kind for _, kind in inputs),
        tuple(shape for shape, _ in outputs),
        tuple(kind for _, kind in outputs),
        stream,
        tuple(int(number) for number in str(fields.get("turned", "")).split(",") if number),
    )


def _parse_shapes(shapes: str, types: str) -> Iterator[tuple[Shape, str]]:
    """Yield (shape, type) of each operand: `32,64;;` is a matrix, a scalar and one that is not given."""
    if not types:
        return
    for shape, kind in zip(shapes.split(";"), types.split(";")):
        yield tuple(int(size) for size in shape.split(",") if size), kind


def _make_collective(fields: Mapping[str, Any]) -> Collective:
    traffic = fields["traffic"]
    return Collective(
        str(fields["name"]).strip("_"),
        str(fields["group"]),
        int(fields["count"]),
        str(fields["data_type"]),
        sum(int(peer["sent"]) for peer in traffic),
        sum(int(peer["received"]) for peer in traffic),
        len(traffic),
        int(fields.get("stream", 0)),
        int(fields.get("rank", 0)),
        tuple(int(peer["peer"]) for peer in traffic),
    )
