"""What a step would take without a cause: its recorded order laid out anew.

A device's task starts when it was launched and the one before it on its stream has ended; what it then still waited
for, it waits for again. The host goes on as it did, without the time that is taken away, and where it waited for the
device it waits for the same task. With nothing taken away the step is as it was, to the nanosecond."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.breakdown import StepTime
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.trace import ON_DEVICE, UNTOLD, Trace

#: Tasks of a step, and waits of the host, that are laid out anew at most: one after the other, in Python
MOST = 20_000
#: A wait ends with a task of the device that ended so little before it
TOGETHER_NS = 200_000


@dataclass(frozen=True)
class Layout:
    """A step laid out anew: how long it takes, and of its critical path what the device and the host need."""

    step_ns: int
    device_ns: int
    host_ns: int


@dataclass(frozen=True)
class Recorded:
    """A step's tasks, in order of their launches, columns (n,): when each was launched, started and ended, and the row
    before it on its stream, or -1; `waits` (m, 3): when a wait began and ended, and the task that it waited for."""

    begin_ns: int
    end_ns: int
    launch_ns: I64
    start_ns: I64
    finish_ns: I64
    before: npt.NDArray[np.int64]
    waits: I64


def record_step(trace: Trace, step: StepTime, waiting: Intervals) -> Recorded | None:
    """Return what a step did; None where it has too much for this, or nothing on a device."""
    inside = (trace.start_ns >= step.start_ns) & (trace.start_ns < step.end_ns) & (trace.duration_ns > 0)
    rows = np.flatnonzero(inside & trace.where(ON_DEVICE))
    if not 0 < rows.size <= MOST:
        return None
    start, launch = trace.start_ns[rows], trace.launch_ns[rows]
    launch = np.where(launch == UNTOLD, start, _ends_of_calls(trace, step, launch))
    launch = np.minimum(launch, start)
    order = np.lexsort((start, launch))
    rows, start, launch = rows[order], start[order], launch[order]
    finish = start + trace.duration_ns[rows]
    before = np.full(rows.size, -1, np.int64)
    last: dict[int, int] = {}
    for at, lane in enumerate(trace.lane[rows].tolist()):
        before[at] = last.get(lane, -1)
        last[lane] = at
    own = waiting.clip_to(step.start_ns, step.end_ns)
    ended = np.argsort(finish, kind="stable")
    task = np.searchsorted(finish[ended], own.end_ns, "right") - 1
    waited = ended[np.maximum(task, 0)]
    bound = (task >= 0) & (own.end_ns - finish[waited] < TOGETHER_NS) & (finish[waited] > own.start_ns)
    waits = np.stack([own.start_ns, own.end_ns, waited], 1)[bound] if rows.size else np.empty((0, 3), np.int64)
    return Recorded(step.start_ns, step.end_ns, launch, start, finish, before, waits)


def _ends_of_calls(trace: Trace, step: StepTime, launch_ns: I64) -> I64:
    """Return when each launch was over: the end of the runtime's call that begins then, else that moment."""
    known_ns = launch_ns[launch_ns != UNTOLD]
    near = trace.where(("runtime",)) & (trace.start_ns >= known_ns.min(initial=step.start_ns))
    rows = np.flatnonzero(near & (trace.start_ns <= step.end_ns))
    rows = rows[np.lexsort((trace.duration_ns[rows], trace.start_ns[rows]))]
    at = np.searchsorted(trace.start_ns[rows], launch_ns, "right") - 1
    call = np.append(rows, 0)[at]
    hit = (at >= 0) & (rows.size > 0) & (trace.start_ns[call] == launch_ns)
    return np.where(hit, trace.start_ns[call] + trace.duration_ns[call], launch_ns)


def lay_out(recorded: Recorded, removed: Intervals) -> Layout:
    """Lay the step out without what the host did in these intervals."""
    taken = removed.before_ns(np.array([recorded.begin_ns]))[0]
    launch_taken = removed.before_ns(recorded.launch_ns) - taken
    starts, ends = recorded.waits[:, 0], recorded.waits[:, 1]
    start_taken, end_taken = removed.before_ns(starts) - taken, removed.before_ns(ends) - taken
    gone = (end_taken - start_taken) * 2 > ends - starts
    columns = (recorded.launch_ns, launch_taken, recorded.start_ns, recorded.finish_ns, recorded.before)
    tasks = list(zip(*(column.tolist() for column in columns)))
    of_waits = (starts, ends, recorded.waits[:, 2], start_taken, end_taken)
    waits = list(zip(*(column[~gone].tolist() for column in of_waits)))
    finish = [0] * len(tasks)
    late, at = 0, 0  # how much later the host is than its own work alone would make it
    on_host: list[bool] = []
    for number, (launch, less, start, end, before) in enumerate(tasks):
        while at < len(waits) and waits[at][1] <= launch:
            late = _wait_again(waits[at], recorded, finish, late)
            at += 1
        free = recorded.finish_ns[before] if before >= 0 else recorded.begin_ns
        rest = start - max(launch, int(free))
        begun = launch - less + late
        again = finish[before] if before >= 0 else recorded.begin_ns
        on_host.append(begun >= again)
        finish[number] = max(begun, again) + rest + (end - start)
    for wait in waits[at:]:
        late = _wait_again(wait, recorded, finish, late)
    device_end = max(finish)
    tail = recorded.end_ns - int(recorded.finish_ns.max())
    end_taken_all = int(removed.before_ns(np.array([recorded.end_ns]))[0] - taken)
    host_end = recorded.end_ns - end_taken_all + late
    last = max(device_end, host_end) if tail > 0 else device_end
    device = int((recorded.finish_ns - recorded.start_ns)[~np.array(on_host)].sum())
    took = max(0, last - recorded.begin_ns)
    return Layout(took, min(device, took), took - min(device, took))


def _wait_again(wait: tuple[int, int, int, int, int], recorded: Recorded, finish: list[int], late: int) -> int:
    """Return how late the host is after a wait: it ends as long after its task as it did, or when the host comes."""
    start, end, task, start_less, end_less = wait
    arrives = start - start_less + late
    ends = max(arrives, finish[task] + end - int(recorded.finish_ns[task]))
    return ends - (end - end_less)
