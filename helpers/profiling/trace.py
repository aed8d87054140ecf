"""One profile as columns, whatever wrote it: NPU, CUDA, ROCm or CPU. All times are whole nanoseconds (int64)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from helpers.profiling.intervals import I64, Intervals

#: What an event is. The first five happen on the device, the others on the host.
KINDS = (
    "compute",
    "communication",
    "copy",
    "communication_task",  # a piece of a collective: its waiting and its transfers, inside a `communication` event
    "device_other",  # event records and waits, place holders
    "host_op",
    "runtime",
    "python",
    "loading",  # the time a DataLoader's next() takes
    "annotation",
    "step",
)
DEVICE_KINDS = KINDS[:5]
I32 = npt.NDArray[np.int32]


class Event(NamedTuple):
    """One event as a reader found it. `launched_by`: index of the host_op event that launched it, or -1.

    `step` is filled only where the file itself says to which step the event belongs.
    """

    name: str
    kind: str
    lane: str
    start_ns: int
    duration_ns: int
    shape: str = ""
    launched_by: int = -1
    step: int | None = None


@dataclass(frozen=True)
class Step:
    """One training step on the host: its number as the profiler counts it, and [start, end)."""

    number: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Trace:
    """Columns of equal length (n,): `name`, `lane` and `shape` index into the tuples of texts of the plural name,
    `kind` into KINDS, `step` into `steps` (-1: outside every step), `launched_by` into the rows (-1: unknown).

    `marked` is False where the profile has no step marks and one step stands for the whole of it. `left_out`
    counts events that could not be used, by reason; `memory_records` the allocations seen. `simulated`: the file says
    that its device was a simulated one, whose times are the CPU's. Raises ValueError when the columns do not fit.
    """

    names: tuple[str, ...]
    lanes: tuple[str, ...]
    shapes: tuple[str, ...]
    steps: tuple[Step, ...]
    name: I32
    kind: npt.NDArray[np.int8]
    lane: I32
    shape: I32
    step: I32
    launched_by: I32
    start_ns: I64
    duration_ns: I64
    source: str = ""
    dialect: str = ""
    marked: bool = True
    memory_records: int = 0
    simulated: bool = False
    left_out: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = (self.kind, self.lane, self.shape, self.step, self.launched_by, self.start_ns, self.duration_ns)
        if any(column.shape != self.name.shape for column in columns):
            raise ValueError("a trace's columns differ in length")
        limits = ((self.name, self.names), (self.lane, self.lanes), (self.shape, self.shapes), (self.kind, KINDS))
        if any(column.size and not 0 <= column.min() <= column.max() < len(texts) for column, texts in limits):
            raise ValueError("a trace's column points outside its texts")
        if self.start_ns.dtype != np.int64 or self.duration_ns.dtype != np.int64:
            raise ValueError("a trace's times are not int64 nanoseconds")
        if self.duration_ns.size and self.duration_ns.min() < 0:
            raise ValueError("a trace has a negative duration")
        if not -1 <= int(self.step.max(initial=-1)) < max(1, len(self.steps)):
            raise ValueError("a trace's step column points outside its steps")

    def __len__(self) -> int:
        return int(self.name.size)

    def where(self, kinds: Collection[str], step: int | None = None) -> npt.NDArray[np.bool_]:
        """A mask (n,) of the events of these kinds, of one step where given."""
        wanted = np.isin(self.kind, [KINDS.index(kind) for kind in kinds])
        return wanted if step is None else wanted & (self.step == step)

    def intervals(self, mask: npt.NDArray[np.bool_]) -> Intervals:
        """When at least one of the events is going on."""
        return Intervals.of(self.start_ns[mask], self.start_ns[mask] + self.duration_ns[mask])

    def count(self, *kinds: str) -> int:
        return int(self.where(kinds).sum())

    @property
    def on_device(self) -> bool:
        """Whether anything that ran on an accelerator was recorded."""
        return self.count("compute", "communication", "copy") > 0


def build(
    events: list[Event], *, source: str, dialect: str, left_out: dict[str, int] | None = None, memory_records: int = 0,
    simulated: bool = False,
) -> Trace:
    """A Trace of what a reader found; steps come from `step` events or else the events' own step numbers."""
    steps, marked = _steps(events)
    column = {name: _texts(getattr(event, name) for event in events) for name in ("name", "lane", "shape")}
    start = np.fromiter((event.start_ns for event in events), np.int64, len(events))
    kind = np.fromiter((KINDS.index(event.kind) for event in events), np.int8, len(events))
    launched_by = np.fromiter((event.launched_by for event in events), np.int32, len(events))
    return Trace(
        names=column["name"][0],
        lanes=column["lane"][0],
        shapes=column["shape"][0],
        steps=steps,
        name=column["name"][1],
        kind=kind,
        lane=column["lane"][1],
        shape=column["shape"][1],
        step=_step_of(events, steps, start, kind, launched_by),
        launched_by=launched_by,
        start_ns=start,
        duration_ns=np.fromiter((event.duration_ns for event in events), np.int64, len(events)),
        source=source,
        dialect=dialect,
        marked=marked,
        memory_records=memory_records,
        simulated=simulated,
        left_out=left_out or {},
    )


def _texts(values: Iterable[str]) -> tuple[tuple[str, ...], I32]:
    """Distinct texts in order of appearance, and for each value its number."""
    numbers: dict[str, int] = {}
    column = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)
    return tuple(numbers), column


def _steps(events: list[Event]) -> tuple[tuple[Step, ...], bool]:
    marks = sorted((e.start_ns, e.start_ns + e.duration_ns, _number(e.name)) for e in events if e.kind == "step")
    if marks:  # a step lasts until the next begins: what lies between two marks belongs to the one before
        ends = [max(end, following[0]) for (_, end, _), following in zip(marks, marks[1:])] + [marks[-1][1]]
        return tuple(Step(number, start, end) for (start, _, number), end in zip(marks, ends)), True
    spans: dict[int, tuple[int, int]] = {}
    for event in events:
        low, high = spans.get(event.step or 0, (event.start_ns, event.start_ns))
        spans[event.step or 0] = (min(low, event.start_ns), max(high, event.start_ns + event.duration_ns))
    named = any(event.step is not None for event in events)
    return tuple(Step(number, *spans[number]) for number in sorted(spans)), named


def _number(name: str) -> int:
    """`ProfilerStep#50` -> 50; a mark without a number is 0."""
    text = name.rpartition("#")[2]
    return int(text) if text.isdigit() else 0


def _step_of(events: list[Event], steps: tuple[Step, ...], start: I64, kind: npt.NDArray[np.int8], by: I32) -> I32:
    """Host events belong to the step they start in, device events to that of the operator which launched them.

    The device runs behind the host, so without a known launch what starts after the last step belongs to it.
    """
    if not steps:
        return np.full(start.size, -1, np.int32)
    begins = np.array([step.start_ns for step in steps], np.int64)
    ends = np.array([step.end_ns for step in steps], np.int64)
    at = np.searchsorted(begins, start, "right") - 1
    device = kind < len(DEVICE_KINDS)
    inside = (at >= 0) & ((start < ends[np.maximum(at, 0)]) | device)
    step = np.where(inside, at, -1).astype(np.int32)
    launched = device & (by >= 0)
    step[launched] = step[by[launched]]
    told = {one.number: number for number, one in enumerate(steps)}
    for row, event in enumerate(events):
        if event.step is not None:
            step[row] = told.get(event.step, -1)
    return step
