"""A virtual clock: estimated kernels of rehearsed ranks on the device's streams, ranks together at collectives.

A launch costs the host time, a kernel begins when it is launched and its stream is free, a collective when all ranks
that stand before the same one have come to it. What waits for what between streams is not recorded, so compute never
waits for a collective: how well one hides the other cannot be read from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.kernels import Kernel, estimate_kernel
from ascend_workbook.planning.rehearsal.settings import Cluster
from ascend_workbook.planning.rehearsal.times import LAUNCH_US, estimate_one_collective, list_kernels
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

    @property
    def launched_ns(self) -> int:
        """Return when the host handed it over: within the call, at its end."""
        return self.called_ns + int(LAUNCH_US.middle * MICRO) - 1


@dataclass
class _Rank:
    """Where one rank's clocks stand."""

    work: Work
    host_ns: int = 0
    at: int = 0
    streams: dict[int, int] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)

    @property
    def waiting(self) -> Collective | None:
        """Return the collective that the rank stands before, None where it is done."""
        return self.work.tasks[self.at] if self.at < len(self.work.tasks) else None  # type: ignore[return-value]


def run_clock(works: Mapping[int, Work], cluster: Cluster, basis: Basis) -> dict[int, list[Span]]:
    """Return the events of one step of each rank, in nanoseconds from its start."""
    kernel_ns: dict[Kernel, int] = {}
    ranks = {rank: _Rank(work) for rank, work in works.items()}
    while True:
        for state in ranks.values():
            _run_to_collective(state, cluster, basis, kernel_ns)
        waiting = [state for state in ranks.values() if state.waiting is not None]
        if not waiting:
            return {rank: state.spans for rank, state in ranks.items()}
        for group in _meet(waiting):
            _exchange(group, cluster)


def _run_to_collective(state: _Rank, cluster: Cluster, basis: Basis, known: dict[Kernel, int]) -> None:
    """Run a rank up to its next collective or its end."""
    launch_ns = int(LAUNCH_US.middle * MICRO)
    while state.at < len(state.work.tasks):
        task = state.work.tasks[state.at]
        if isinstance(task, Collective):
            return
        state.at += 1
        if isinstance(task, Copy):
            _add_copy(state, task, launch_ns)
            continue
        for kernel in list_kernels(task):
            if kernel not in known:
                known[kernel] = max(1, int(estimate_kernel(kernel, cluster.chip, basis).middle * MICRO))
            called, state.host_ns = state.host_ns, state.host_ns + launch_ns
            start = max(state.host_ns, state.streams.get(task.stream, 0))
            end = state.streams[task.stream] = start + known[kernel]
            state.spans.append(Span(kernel.type, "kernel", task, state.at, kernel, task.stream, called, start, end))


def _add_copy(state: _Rank, task: Copy, launch_ns: int) -> None:
    called, state.host_ns = state.host_ns, state.host_ns + launch_ns
    start = max(state.host_ns, state.streams.get(task.stream, 0))
    end = state.streams[task.stream] = start + READ_NS
    state.spans.append(Span("MEMCPY_ASYNC", "copy", task, state.at, None, task.stream, called, start, end))
    if task.reads:
        state.host_ns = end


def _meet(waiting: list[_Rank]) -> Iterator[list[_Rank]]:
    """Yield the ranks that stand before the same collective of the same group together; alone where none is."""
    meetings: dict[tuple[str, int, str], list[_Rank]] = {}
    for state in waiting:
        task = state.waiting
        assert isinstance(task, Collective)
        key = (task.name, task.peers, f"{task.count} {task.data_type} {state.calls.get(task.name, 0)}")
        meetings.setdefault(key, []).append(state)
    yield from meetings.values()


def _exchange(states: list[_Rank], cluster: Cluster) -> None:
    """Run one collective: it begins when the last has come, and ends for all at once."""
    launch_ns = int(LAUNCH_US.middle * MICRO)
    starts = []
    for state in states:
        state.host_ns += launch_ns
        starts.append(max(state.host_ns, *state.streams.values(), 0) if state.streams else state.host_ns)
    for state in states:
        task = state.work.tasks[state.at]
        assert isinstance(task, Collective)
        stream = -1 - state.groups.setdefault(task.group, len(state.groups))
        own = max(starts[states.index(state)], state.streams.get(stream, 0))
        end = max(*starts, own) + max(1, int(estimate_one_collective(task, cluster).middle * MICRO))
        state.streams[stream] = end
        number = state.calls[task.name] = state.calls.get(task.name, 0) + 1
        name = f"{task.name}__{state.groups[task.group]:03d}_{number - 1}_1"
        state.spans.append(
            Span(name, "collective", task, state.at + 1, None, stream, state.host_ns - launch_ns, own, end)
        )
        state.at += 1


def describe_calls(spans: list[Span]) -> Iterator[tuple[Task, int, int]]:
    """Yield each task of the host once, with when it was called and when its last launch was over."""
    for _, group in groupby(spans, key=lambda span: span.place):
        launches = list(group)
        yield launches[0].task, launches[0].called_ns, launches[-1].launched_ns + 1
