"""A virtual clock: estimated kernels of rehearsed ranks on the device's streams, ranks together at collectives.

A launch costs the host time; a kernel begins when it is launched and its stream is free; a collective when all ranks
that stand before the same one have come to it. What waits for what is what the training asked for: a stream for an
event of another (`wait_stream`, `work.wait()`, a bucket of gradients before the update), the host for a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.kernels import Kernel, estimate_kernel
from ascend_workbook.estimates.launches import estimate_launches
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.planning.rehearsal.settings import Cluster
from ascend_workbook.planning.rehearsal.times import estimate_one_collective, list_kernels
from ascend_workbook.planning.rehearsal.work import Collective, Copy, HostWait, Mark, Task, Wait, Work

#: Nanoseconds of a copy of one value to the host, as public profiles show them: 10 us and less.
READ_NS = 10_000
MICRO = 1_000
SEND, RECEIVE = "hcom_send", "hcom_receive"


@dataclass(frozen=True)
class Span:
    """One event of the device, launched from `called_ns` on: on a stream, or a negative one that is a group's.

    place: number of its task in the step."""

    name: str
    kind: str
    task: Task
    place: int
    kernel: Kernel | None
    stream: int
    called_ns: int
    start_ns: int
    end_ns: int
    launched_ns: int


@dataclass
class _Rank:
    """Where one rank's clocks stand; `launch_ns` is what a launch costs its host. `streams`: when what was launched on
    each is done; `marks`: when each event that was recorded has come."""

    work: Work
    launch_ns: int
    host_ns: int = 0
    at: int = 0
    streams: dict[int, int] = field(default_factory=dict)
    marks: dict[int, int] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)

    @property
    def before(self) -> Collective:
        """Return the collective that the rank stands before."""
        task = self.work.tasks[self.at]
        assert isinstance(task, Collective)
        return task

    def launch(self) -> int:
        """Let the host launch something; return when it began to."""
        self.host_ns += self.launch_ns
        return self.host_ns - self.launch_ns

    def free_from(self, stream: int) -> int:
        """Return from when on what is launched now can run on the stream."""
        return max(self.host_ns, self.streams.get(stream, 0))

    def add_span(self, name: str, kind: str, kernel: Kernel | None, lane: int, times: tuple[int, int, int]) -> None:
        """Add an event of the task that the rank is at: called, started, ended."""
        called, start, end = times
        task = self.work.tasks[self.at]
        launched = called + self.launch_ns - 1
        self.spans.append(Span(name, kind, task, self.at, kernel, lane, called, start, end, launched))

    def put_in_order(self, task: Mark | Wait | HostWait) -> None:
        """Let a stream, or the host, wait for what it was told to; an event of an earlier step has come."""
        if isinstance(task, Mark):
            self.marks[task.number] = self.streams.get(task.stream, 0)
        elif isinstance(task, Wait):
            self.streams[task.stream] = max(self.streams.get(task.stream, 0), self.marks.get(task.number, 0))
        elif task.number:
            self.host_ns = max(self.host_ns, self.marks.get(task.number, 0))
        else:
            own = self.streams.values() if task.stream < 0 else (self.streams.get(task.stream, 0),)
            self.host_ns = max(self.host_ns, *own, 0)


#: Which of a range's ends is taken for the time
Choose = Callable[[Range], float]


def take_middle(estimate: Range) -> float:
    return estimate.middle


def take_low(estimate: Range) -> float:
    return estimate.low


def take_high(estimate: Range) -> float:
    return estimate.high


@dataclass(frozen=True)
class _Pace:
    """How long things take: kernels, each estimated once, and collectives."""

    cluster: Cluster
    basis: Basis
    compute: Choose
    exchange: Choose
    kernels: dict[Kernel, int] = field(default_factory=dict)

    def time_kernel(self, kernel: Kernel) -> int:
        """Return the nanoseconds of a kernel."""
        if kernel not in self.kernels:
            estimate = estimate_kernel(kernel, self.cluster.chip, self.basis)
            self.kernels[kernel] = max(1, int(self.compute(estimate) * MICRO))
        return self.kernels[kernel]

    def time_collective(self, collective: Collective) -> int:
        """Return the nanoseconds of a collective for which nobody is late."""
        return max(1, int(self.exchange(estimate_one_collective(collective, self.cluster)) * MICRO))


def run_clock(
    works: Mapping[int, Work],
    cluster: Cluster,
    basis: Basis,
    compute: Choose = take_middle,
    exchange: Choose = take_middle,
) -> dict[int, list[Span]]:
    """Return the events of one step of each rank, in nanoseconds from its start; kernels and collectives take the
    likeliest time unless another end of their ranges is chosen."""
    pace = _Pace(cluster, basis, compute, exchange)
    launch_ns = int(estimate_launches(1, basis).middle * MICRO)
    ranks = {rank: _Rank(work, launch_ns) for rank, work in works.items()}
    while True:
        for state in ranks.values():
            _run_to_collective(state, pace)
        waiting = [state for state in ranks.values() if state.at < len(state.work.tasks)]
        if not waiting:
            return {rank: state.spans for rank, state in ranks.items()}
        for group in _meet(waiting):
            _exchange(group, pace)


def _run_to_collective(state: _Rank, pace: _Pace) -> None:
    """Run a rank up to its next collective or its end."""
    while state.at < len(state.work.tasks):
        task = state.work.tasks[state.at]
        if isinstance(task, Collective):
            return
        if isinstance(task, (Mark, Wait, HostWait)):
            state.put_in_order(task)
        elif isinstance(task, Copy):
            _add_copy(state, task)
        else:
            for kernel in list_kernels(task):
                called = state.launch()
                start = state.free_from(task.stream)
                state.streams[task.stream] = start + pace.time_kernel(kernel)
                times = (called, start, state.streams[task.stream])
                state.add_span(kernel.type, "kernel", kernel, task.stream, times)
        state.at += 1


def _add_copy(state: _Rank, task: Copy) -> None:
    called = state.launch()
    start = state.free_from(task.stream)
    state.streams[task.stream] = start + READ_NS
    state.add_span("MEMCPY_ASYNC", "copy", None, task.stream, (called, start, start + READ_NS))
    if task.reads:
        state.host_ns = start + READ_NS


def _meet(waiting: Sequence[_Rank]) -> Iterator[list[_Rank]]:
    """Yield the ranks that stand before the same collective together, a sender with its receiver, and those alone that
    stand before another."""
    meetings: dict[tuple[object, ...], list[_Rank]] = {}
    for state in waiting:
        meetings.setdefault(_meeting_of(state), []).append(state)
    yield from meetings.values()


def _meeting_of(state: _Rank) -> tuple[object, ...]:
    """Return what is the same of two ranks that stand before one collective."""
    task = state.before
    pair = (task.rank, *task.partners)
    if task.name in (SEND, RECEIVE) and len(pair) == 2:
        ends = pair if task.name == SEND else pair[::-1]
        return ("pair", ends, task.count, task.data_type, state.calls.get(f"{task.name} {ends}", 0))
    return (task.name, task.peers, task.count, task.data_type, state.calls.get(task.name, 0))


def _exchange(states: Sequence[_Rank], pace: _Pace) -> None:
    """Run one collective: it begins on a rank when it is launched and its stream is free, and ends for all at once."""
    begins = []
    for state in states:
        called = state.launch()
        lane = -1 - state.groups.setdefault(state.before.group, len(state.groups))
        start = max(state.free_from(state.before.stream), state.streams.get(lane, 0))
        begins.append((called, lane, start))
    length = pace.time_collective(states[0].before)
    end = max(begin for _, _, begin in begins) + length
    for state, (called, lane, begin) in zip(states, begins):
        task = state.before
        _, *rest = _meeting_of(state)
        number = state.calls[task.name] = state.calls.get(task.name, 0) + 1
        if task.name in (SEND, RECEIVE):
            pair = f"{task.name} {rest[0]}"
            state.calls[pair] = state.calls.get(pair, 0) + 1
        name = f"{task.name}__{state.groups[task.group]:03d}_{number - 1}_1"
        state.streams[task.stream] = state.streams[lane] = end
        state.add_span(name, "collective", None, lane, (called, begin, end))
        state.at += 1


def describe_calls(spans: Sequence[Span]) -> Iterator[tuple[Task, int, int]]:
    """Yield each task of the host once, with when it was called and when its last launch was over."""
    for _, group in groupby(spans, key=lambda span: span.place):
        launches = list(group)
        yield launches[0].task, launches[0].called_ns, launches[-1].launched_ns + 1
