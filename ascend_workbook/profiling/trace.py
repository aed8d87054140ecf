"""One profile as columns, whatever wrote it: NPU, CUDA, ROCm or CPU. All times are whole nanoseconds (int64)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import is_number
from ascend_workbook.profiling.intervals import I64, Intervals

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
#: What a device works on
ON_DEVICE = ("compute", "communication", "copy")
I32 = npt.NDArray[np.int32]
UNTOLD = -1
#: Columns of a Trace that index into its tuples of texts, and those of nanoseconds
TEXTS = ("name", "lane", "shape", "engine", "dtype", "stack")
TIMES = ("start_ns", "duration_ns", "launch_ns")


class Event(NamedTuple):
    """One event as a reader found it. `launched_by`: index of the host_op event that launched it, or -1. `step` is
    filled only where the file itself says to which step the event belongs; the others as in Trace."""

    name: str
    kind: str
    lane: str
    start_ns: int
    duration_ns: int
    shape: str = ""
    launched_by: int = -1
    step: int | None = None
    launch_ns: int = UNTOLD
    engine: str = ""
    dtype: str = ""
    stack: str = ""


class Detail(NamedTuple):
    """What a profile tells of a collective or a piece of one: empty and -1 where it does not. `ranks` as JSON text;
    `number` in the group's sequence; `peer` is the rank, as its group counts, that a piece waits for or copies with."""

    collective: str = ""
    group: str = ""
    ranks: str = ""
    dtype: str = ""
    number: int = -1
    elements: int = -1
    peer: int = -1


NO_DETAIL = Detail()


class Sample(NamedTuple):
    """What one of the device's counters told at a moment, in its own unit."""

    name: str
    at_ns: int
    value: float


@dataclass(frozen=True)
class Step:
    """One training step on the host: its number as the profiler counts it, and [start, end)."""

    number: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Looked:
    """Of a trace whose steps were not all looked at: the numbers of the first and last that were; how many it has; the
    mean of all but its first, and the slowest of all that were not looked at. `behind`: what was read around them
    does not hold all that tells of them, for the device is too far behind the host. `begin_ns`: when the device came
    to the first of them; None where that is the file's first step. `on_device`: whether a device's work was recorded,
    in these steps or around."""

    first: int
    last: int
    steps: int
    mean_ns: float
    slowest: int
    slowest_ns: int
    behind: bool = False
    begin_ns: int | None = None
    on_device: bool = False


@dataclass(frozen=True)
class Trace:
    """Columns of equal length (n,): `name`, `lane`, `shape`, `dtype` (of an operator's tensors), `stack` (calls, the
    innermost first, one a line) and `engine` (an NPU's unit) index into the tuples of texts of the plural name, `kind`
    into KINDS, `step` into `steps` (-1: outside every step), `launched_by` into the rows (-1: unknown); `launch_ns` is
    when the host launched a device event (UNTOLD: unknown). `marked` is False where the profile has no step marks and
    one step stands for the whole of it. `left_out` counts events that could not be used, by reason; `memory_records`
    the allocations seen, `counters` the samples of the device's clock, memory and cache. `simulated`: the file says
    that its device was a simulated one, whose times are the CPU's. `cut_at`: the byte at which a file that was cut
    short ends, or is damaged, `damage` says how; the events are those before it. `slower`: why the fast reader had
    no part in it, empty where it had or where its form has none. `detail` (n,) indexes into `details`, whose first
    says nothing. `about`: what the file says of itself beside its events. `looked`: which of the file's steps these
    are, None: all; what other steps launched and what runs in the time of these is then of no step. `remarks`: what
    else is to be said of which steps were read, each {"say": ..., "args": ...}. Raises ValueError when the columns
    do not fit."""

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
    launch_ns: I64
    engine: I32
    dtype: I32
    stack: I32
    engines: tuple[str, ...] = ("",)
    dtypes: tuple[str, ...] = ("",)
    stacks: tuple[str, ...] = ("",)
    source: str = ""
    dialect: str = ""
    marked: bool = True
    memory_records: int = 0
    counters: tuple[Sample, ...] = ()
    simulated: bool = False
    left_out: dict[str, int] = field(default_factory=dict)
    cut_at: int | None = None
    damage: Sentence | None = None
    slower: Scalar = ""
    details: tuple[Detail, ...] = (NO_DETAIL,)
    detail: I32 | None = None
    about: dict[str, object] = field(default_factory=dict)
    looked: Looked | None = None
    remarks: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        columns = [getattr(self, name) for name in ("kind", *TEXTS, "step", "launched_by", *TIMES)]
        columns += [] if self.detail is None else [self.detail]
        if any(column.shape != self.name.shape for column in columns):
            raise ValueError("a trace's columns differ in length")
        limits = [(self.kind, KINDS), *((getattr(self, name), getattr(self, f"{name}s")) for name in TEXTS)]
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

    def where(self, kinds: Collection[str]) -> npt.NDArray[np.bool_]:
        """Return a mask (n,) of the events of these kinds."""
        return np.isin(self.kind, [KINDS.index(kind) for kind in kinds])

    def mask_of_names(self, wanted: Callable[[str], object]) -> npt.NDArray[np.bool_]:
        """Return a mask (n,) of the events whose names are wanted."""
        return np.array([bool(wanted(name)) for name in self.names] or [False])[self.name]

    def in_steps(self, numbers: Collection[int]) -> npt.NDArray[np.bool_]:
        """Return a mask (n,) of the events in steps with these numbers."""
        outside = False  # the last, which -1 points at
        return np.array([*(step.number in numbers for step in self.steps), outside])[self.step]

    def intervals_of(self, mask: npt.NDArray[np.bool_]) -> Intervals:
        """Return when at least one of the events is going on."""
        return Intervals.union_of(self.start_ns[mask], self.start_ns[mask] + self.duration_ns[mask])

    def detail_of(self, row: int) -> Detail:
        """Return what the file tells of a collective in this row."""
        return NO_DETAIL if self.detail is None else self.details[self.detail[row]]

    def count_events(self, *kinds: str) -> int:
        """Count the events of these kinds."""
        return sum(self._counts[kind] for kind in kinds)

    @cached_property
    def _counts(self) -> dict[str, int]:
        return {kind: int(np.count_nonzero(self.kind == at)) for at, kind in enumerate(KINDS)}

    def device_of(self) -> npt.NDArray[np.object_]:
        """Return for each row the device that its lane names, or an empty text: (n,)."""
        return np.array([*map(_device_of_lane, self.lanes)] or [""], np.object_)[self.lane]

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """Return the devices whose kernels are in it; one that has no name is one too."""
        kernels = np.bincount(self.lane[self.where(("compute",))], minlength=len(self.lanes))
        return tuple(sorted({_device_of_lane(lane) for lane, count in zip(self.lanes, kernels.tolist()) if count}))

    @property
    def leads_in(self) -> bool:
        """Return whether the file has steps before its first that was looked at."""
        return self.looked is not None and self.looked.begin_ns is not None

    @property
    def recorded_steps(self) -> int:
        """Return how many steps the profile holds, looked at or not."""
        return self.looked.steps if self.looked else len(self.steps)

    @property
    def on_device(self) -> bool:
        """Return whether anything that ran on an accelerator was recorded."""
        return self.count_events(*ON_DEVICE) > 0 or bool(self.looked and self.looked.on_device)


def _device_of_lane(lane: str) -> str:
    """Return the device that a lane names, or an empty text."""
    return lane.split(" ")[1] if lane.startswith("device ") and " stream " in lane else ""


def order_by_code(code: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """Return the rows (n,) in order of their codes, which are not negative; those of one code in their own order."""
    narrow = code.size and int(code.max()) < 2**16  # then numpy counts instead of comparing
    return np.argsort(code.astype(np.uint16) if narrow else code, kind="stable")


class Texts(NamedTuple):
    """A column of texts on its way into a Trace: `code` (n,) counts in `texts`, in which one may stand twice."""

    texts: Sequence[str]
    code: I32

    @classmethod
    def from_values(cls, values: Iterable[str]) -> Texts:
        """Make the column of these values, each text once."""
        numbers: dict[str, int] = {}
        code = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)
        return cls(tuple(numbers), code)

    @classmethod
    def join_columns(cls, pieces: Iterable[Texts]) -> Texts:
        """Join columns one behind the other; each text once."""
        numbers: dict[str, int] = {}
        code = [
            np.array([numbers.setdefault(text, len(numbers)) for text in piece.texts], np.int32)[piece.code]
            for piece in pieces
        ]
        return cls(tuple(numbers), np.concatenate(code))

    def drop_unused(self, first: Iterable[str] = ()) -> Texts:
        """Return the column without the texts that no row has, each text once, those in `first` before the others."""
        numbers = {text: at for at, text in enumerate(first)}
        used = np.flatnonzero(np.bincount(self.code, minlength=len(self.texts)))
        code = np.zeros(len(self.texts), np.int32)
        code[used] = [numbers.setdefault(self.texts[at], len(numbers)) for at in used.tolist()]
        return Texts(tuple(numbers), self.code if np.array_equal(code[used], used) else code[self.code])


def build_trace(events: list[Event], **facts: Any) -> Trace:
    """Build a Trace of single events; steps come from `step` events or else the events' own step numbers. `facts`: what
    assemble_trace takes beside the columns."""
    count = len(events)
    return assemble_trace(
        Texts.from_values(event.name for event in events),
        np.fromiter((KINDS.index(event.kind) for event in events), np.int8, count),
        Texts.from_values(event.lane for event in events),
        Texts.from_values(event.shape for event in events),
        np.fromiter((event.launched_by for event in events), np.int32, count),
        np.fromiter((event.start_ns for event in events), np.int64, count),
        np.fromiter((event.duration_ns for event in events), np.int64, count),
        np.fromiter((UNTOLD if event.step is None else event.step for event in events), np.int64, count),
        launch_ns=np.fromiter((event.launch_ns for event in events), np.int64, count),
        engine=Texts.from_values(event.engine for event in events),
        dtype=Texts.from_values(event.dtype for event in events),
        stack=Texts.from_values(event.stack for event in events),
        **facts,
    )


def assemble_trace(
    name: Texts,
    kind: npt.NDArray[np.int8],
    lane: Texts,
    shape: Texts,
    launched_by: I32,
    start_ns: I64,
    duration_ns: I64,
    named_steps: I64 | None = None,
    *,
    launch_ns: I64 | None = None,
    engine: Texts | None = None,
    dtype: Texts | None = None,
    stack: Texts | None = None,
    detail: tuple[Sequence[Detail], I32] | None = None,
    **facts: Any,
) -> Trace:
    """Assemble a Trace of columns (n,). `named_steps`: the step that the file names for an event, UNTOLD where it names
    none; the columns that may be left out are then without texts or times. `facts`: what a Trace has beside columns."""
    none = Texts(("",), np.zeros(start_ns.size, np.int32))
    engines, dtypes, stacks = ((column or none).drop_unused(first=("",)) for column in (engine, dtype, stack))
    named_steps = np.broadcast_to(np.int64(UNTOLD), start_ns.shape) if named_steps is None else named_steps
    apart_ns = _find_apart(kind, start_ns, launch_ns)
    if apart_ns:
        start_ns = np.where(kind < len(DEVICE_KINDS), start_ns - apart_ns, start_ns)
        remark = Sentence("PRF302.clocks", seconds=round(apart_ns / 1e9, 3))
        facts["remarks"] = (*facts.get("remarks", ()), remark)
    steps, marked = _find_steps(name, kind, start_ns, duration_ns, named_steps)
    names, lanes, shapes = name.drop_unused(), lane.drop_unused(), shape.drop_unused(first=("",))
    return Trace(
        names=tuple(names.texts),
        lanes=tuple(lanes.texts),
        shapes=tuple(shapes.texts),
        steps=steps,
        name=names.code,
        kind=kind,
        lane=lanes.code,
        shape=shapes.code,
        step=_step_of(steps, start_ns, kind, launched_by, named_steps),
        launched_by=launched_by,
        start_ns=start_ns,
        duration_ns=duration_ns,
        launch_ns=np.full(start_ns.size, UNTOLD, np.int64) if launch_ns is None else launch_ns,
        engine=engines.code,
        dtype=dtypes.code,
        stack=stacks.code,
        engines=tuple(engines.texts),
        dtypes=tuple(dtypes.texts),
        stacks=tuple(stacks.texts),
        marked=marked,
        details=tuple(detail[0]) if detail else (NO_DETAIL,),
        detail=detail[1] if detail else None,
        **facts,
    )


#: No queue of a device holds work for longer: what starts so long after its launch was timed by another clock
LONGEST_QUEUE_NS, CLOCKS_DIFFER_NS = 5 * 10**9, 10**9


def _find_apart(kind: npt.NDArray[np.int8], start_ns: I64, launch_ns: I64 | None) -> int:
    """Return how far the device's clock is ahead of the host's where no launch explains it, else 0."""
    if launch_ns is None:
        return 0
    known = (kind < len(DEVICE_KINDS)) & (launch_ns != UNTOLD)
    if not known.any():
        return 0
    behind = start_ns[known] - launch_ns[known]
    least, most = int(behind.min()), int(behind.max())
    return least if least > LONGEST_QUEUE_NS or most < -CLOCKS_DIFFER_NS else 0


def _find_steps(
    name: Texts, kind: npt.NDArray[np.int8], start_ns: I64, duration_ns: I64, named_steps: I64
) -> tuple[tuple[Step, ...], bool]:
    """Return the steps of the events, and whether the file itself marks them."""
    at = np.flatnonzero(kind == KINDS.index("step"))
    columns = zip(start_ns[at].tolist(), (start_ns + duration_ns)[at].tolist(), name.code[at].tolist())
    marks = sorted((start, end, _read_step_number(name.texts[code])) for start, end, code in columns)
    if marks:  # a step lasts until the next begins: what lies between two marks belongs to the one before
        ends = [max(end, following[0]) for (_, end, _), following in zip(marks, marks[1:])] + [marks[-1][1]]
        return tuple(Step(number, start, end) for (start, _, number), end in zip(marks, ends)), True
    number_of = np.maximum(named_steps, 0)
    spans = []
    for number in np.unique(number_of).tolist():
        rows = number_of == number
        spans.append(Step(number, int(start_ns[rows].min()), int((start_ns + duration_ns)[rows].max())))
    return tuple(spans), bool((named_steps != UNTOLD).any())


def _read_step_number(name: str) -> int:
    """Read a step mark's number: `ProfilerStep#50` -> 50; a mark without a number is 0."""
    text = name.rpartition("#")[2]
    return int(text) if is_number(text, 18) else 0


def _step_of(steps: tuple[Step, ...], start: I64, kind: npt.NDArray[np.int8], by: I32, named_steps: I64) -> I32:
    """Return the step of each event: host events belong to the step they start in, device events to that of the
    operator which launched them. The device runs behind the host, so without a known launch what starts after the last
    step belongs to it."""
    if not steps:
        return np.full(start.size, -1, np.int32)
    begins = np.array([step.start_ns for step in steps], np.int64)
    ends = np.array([step.end_ns for step in steps], np.int64)
    at = np.searchsorted(begins, start, "right").astype(np.int32) - np.int32(1)
    device = kind < len(DEVICE_KINDS)
    step: I32 = np.where((at >= 0) & ((start < ends[at]) | device), at, np.int32(-1))
    launched = device & (by >= 0)
    step[launched] = step[by[launched]]
    for number in np.unique(named_steps[named_steps != UNTOLD]).tolist():
        last = max((at for at, candidate in enumerate(steps) if candidate.number == number), default=-1)
        step[named_steps == number] = last
    return step
