"""A virtual clock: estimated kernels of rehearsed ranks on the device's streams, ranks together at collectives.

A launch costs the host time, a kernel begins when it is launched and its stream is free, a collective when all ranks
that stand before the same one have come to it. What waits for what between streams is not recorded, so compute never
waits for a collective: how well one hides the other cannot be read from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.kernels import Kernel, estimate_kernel
from ascend_workbook.estimates.launches import estimate_launches
from ascend_workbook.planning.rehearsal.settings import Cluster
from ascend_workbook.planning.rehearsal.times import estimate_one_collective, list_kernels
from ascend_workbook.planning.rehearsal.work import Collective, Copy, Task, Work

#: Nanoseconds of a copy of one value to the host, as public profiles show them: 10 us and less.
READ_NS = 10_000
MICRO = 1_000


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
    """Where one rank's clocks stand; `launch_ns` is what a launch costs its host."""

    work: Work
    launch_ns: int
    host_ns: int = 0
    at: int = 0
    streams: dict[int, int] = field(default_factory=dict)
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

    def add_span(self, name: str, kind: str, kernel: Kernel | None, stream: int, times: tuple[int, int, int]) -> None:
        """Add an event of the task that the rank is at: called, started, ended."""
        called, start, end = times
        self.streams[stream] = end
        task = self.work.tasks[self.at]
        launched = called + self.launch_ns - 1
        self.spans.append(Span(name, kind, task, self.at, kernel, stream, called, start, end, launched))


def run_clock(works: Mapping[int, Work], cluster: Cluster, basis: Basis) -> dict[int, list[Span]]:
    """Return the events of one step of each rank, in nanoseconds from its start."""
    kernel_ns: dict[Kernel, int] = {}
    launch_ns = int(estimate_launches(1, basis).middle * MICRO)
    ranks = {rank: _Rank(work, launch_ns) for rank, work in works.items()}
    while True:
        for state in ranks.values():
            _run_to_collective(state, cluster, basis, kernel_ns)
        waiting = [state for state in ranks.values() if state.at < len(state.work.tasks)]
        if not waiting:
            return {rank: state.spans for rank, state in ranks.items()}
        for group in _meet(waiting):
            _exchange(group, cluster)


def _run_to_collective(state: _Rank, cluster: Cluster, basis: Basis, known: dict[Kernel, int]) -> None:
    """Run a rank up to its next collective or its end."""
    while state.at < len(state.work.tasks):
        task = state.work.tasks[state.at]
        if isinstance(task, Collective):
            return
        if isinstance(task, Copy):
            _add_copy(state, task)
        else:
            for kernel in list_kernels(task):
                if kernel not in known:
                    known[kernel] = max(1, int(estimate_kernel(kernel, cluster.chip, basis).middle * MICRO))
                called = state.launch()
                start = max(state.host_ns, state.streams.get(task.stream, 0))
                times = (called, start, start + known[kernel])
                state.add_span(kernel.type, "kernel", kernel, task.stream, times)
        state.at += 1


def _add_copy(state: _Rank, task: Copy) -> None:
    called = state.launch()
    start = max(state.host_ns, state.streams.get(task.stream, 0))
    state.add_span("MEMCPY_ASYNC", "copy", None, task.stream, (called, start, start + READ_NS))
    if task.reads:
        state.host_ns = start + READ_NS


def _meet(waiting: Sequence[_Rank]) -> Iterator[list[_Rank]]:
    """Yield the ranks that stand before the same collective together, and those alone that stand before another."""
    meetings: dict[tuple[str, int, int, str, int], list[_Rank]] = {}
    for state in waiting:
        task = state.before
        key = (task.name, task.peers, task.count, task.data_type, state.calls.get(task.name, 0))
        meetings.setdefault(key, []).append(state)
    yield from meetings.values()


def _exchange(states: Sequence[_Rank], cluster: Cluster) -> None:
    """Run one collective: it begins on a rank when what was launched there is done, and ends for all at once."""
    begins = []
    for state in states:
        called = state.launch()
        stream = -1 - state.groups.setdefault(state.before.group, len(state.groups))
        own = [end for other, end in state.streams.items() if other >= 0 or other == stream]
        begins.append((called, stream, max([state.host_ns, *own])))
    length = max(1, int(estimate_one_collective(states[0].before, cluster).middle * MICRO))
    end = max(begin for _, _, begin in begins) + length
    for state, (called, stream, begin) in zip(states, begins):
        task = state.before
        number = state.calls[task.name] = state.calls.get(task.name, 0) + 1
        name = f"{task.name}__{state.groups[task.group]:03d}_{number - 1}_1"
        state.add_span(name, "collective", None, stream, (called, begin, end))
        state.at += 1


def describe_calls(spans: Sequence[Span]) -> Iterator[tuple[Task, int, int]]:
    """Yield each task of the host once, with when it was called and when its last launch was over."""
    for _, group in groupby(spans, key=lambda span: span.place):
        launches = list(group)
        yield launches[0].task, launches[0].called_ns, launches[-1].launched_ns + 1
