"""What the device was asked in one step of a rehearsal: kernels with their shapes, copies, and collectives by group."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TASKS = "simulated_tasks.jsonl"
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """One operator as it was launched; types by CANN's names (`DT_BF16`)."""

    name: str
    inputs: tuple[Shape, ...]
    input_types: tuple[str, ...]
    outputs: tuple[Shape, ...]
    output_types: tuple[str, ...]


@dataclass(frozen=True)
class Collective:
    """One collective of one group: elements of a type, bytes that this rank sends to all others together."""

    name: str
    group: str
    count: int
    data_type: str
    sent: int
    received: int
    peers: int


@dataclass(frozen=True)
class Work:
    """The work of one rank in one step, in the order in which it was launched."""

    calls: tuple[Call, ...]
    collectives: tuple[Collective, ...]
    copies: int

    @property
    def counts(self) -> Mapping[tuple[Call, int], int]:
        """Return how often each distinct call was launched."""
        return Counter(self.calls)  # type: ignore[arg-type]

    @property
    def signature(self) -> tuple[Any, ...]:
        """Return what is the same of two ranks that do the same work."""
        return (
            tuple(Counter(self.calls).items()),
            tuple((each.name, each.count, each.peers) for each in self.collectives),
        )


def load_work(folder: Path) -> Work | None:
    """Read the newest recording below the folder; None where nothing was recorded."""
    files = sorted(folder.glob(f"PROF_*/host/data/{TASKS}"))
    if not files:
        return None
    tasks = [json.loads(line) for line in files[-1].read_text(encoding="utf-8").splitlines()]
    kernels = tuple(map(_make_call, (task for task in tasks if task["kind"] == "kernel")))
    collectives = tuple(map(_make_collective, (task for task in tasks if task["kind"] == "collective")))
    return Work(kernels, collectives, sum(task["kind"] == "copy" for task in tasks))


def _make_call(task: Mapping[str, Any]) -> Call:
    inputs, outputs = (
        tuple(_parse_shapes(task[f"{side}_shapes"], task[f"{side}_types"])) for side in ("input", "output")
    )
    return Call(
        str(task["name"]),
        tuple(shape for shape, _ in inputs),
        tuple(kind for _, kind in inputs),
        tuple(shape for shape, _ in outputs),
        tuple(kind for _, kind in outputs),
    )


def _parse_shapes(shapes: str, types: str) -> Iterator[tuple[Shape, str]]:
    """Yield (shape, type) of each operand: `32,64;;` is a matrix, a scalar and one that is not given."""
    if not types:
        return
    for shape, kind in zip(shapes.split(";"), types.split(";")):
        yield tuple(int(size) for size in shape.split(",") if size), kind


def _make_collective(task: Mapping[str, Any]) -> Collective:
    traffic = task["traffic"]
    return Collective(
        str(task["name"]).strip("_"),
        str(task["group"]),
        int(task["count"]),
        str(task["data_type"]),
        sum(int(peer["sent"]) for peer in traffic),
        sum(int(peer["received"]) for peer in traffic),
        len(traffic),
    )
