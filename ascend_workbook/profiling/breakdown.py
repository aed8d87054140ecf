"""Where a step's time goes: parts that never overlap and sum to the step, in nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from ascend_workbook.profiling.intervals import EMPTY, I64, Intervals
from ascend_workbook.profiling.trace import ON_DEVICE, Trace

#: In order of precedence: what two parts cover at once counts for the first, so communication and copies count
#: only where nothing computes (exposed), and loading only where the device, or on a CPU no operator, is at work.
PARTS = ("computing", "communication", "copy", "loading", "free")
DEVICE_PARTS = {
    "computing": ("compute",),
    "communication": ("communication",),
    "copy": ("copy",),
    "loading": ("loading",),
}
#: Without a device the operators run on the host, and those inside a DataLoader's next() are loading.
HOST_PARTS = {"loading": ("loading",), "computing": ("host_op",)}


#: Of a step that is alone: what the host does after the device's last work counts from this part on
TAIL = 0.05
#: (number, start, end) of a step
Window = tuple[int, int, int]


@dataclass(frozen=True)
class StepTime:
    """One step. With a device its window ends with the device's work and begins where the step before ended.
    `preparing_ns`: until the first kernel or collective (part of free, copy and loading). `overlapped_ns`:
    communication hidden behind computing."""

    number: int
    start_ns: int
    end_ns: int
    parts_ns: dict[str, int]
    overlapped_ns: int
    preparing_ns: int

    def __post_init__(self) -> None:
        if sum(self.parts_ns.values()) != self.total_ns:
            raise ValueError(f"step {self.number}: the parts do not sum to {self.total_ns} ns")

    @property
    def total_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Breakdown:
    """All steps, and of them the steady ones: from three steps on, the first is left out as warm-up, unless they are
    `warm`, some of many that were looked at."""

    steps: tuple[StepTime, ...]
    on_device: bool
    warm: bool = False

    @property
    def steady(self) -> tuple[StepTime, ...]:
        return self.steps[1:] if len(self.steps) >= 3 and not self.warm else self.steps

    @property
    def total_ns(self) -> int:
        """Return what all steady steps take together, in nanoseconds."""
        return sum(step.total_ns for step in self.steady)

    @property
    def step_ns(self) -> float:
        """Return the mean step in nanoseconds: what the parts, operators and causes of all steady steps add up to."""
        return fmean(step.total_ns for step in self.steady)

    @property
    def median_ns(self) -> float:
        """Return the median step in nanoseconds: a usual one, where a few take much longer."""
        return float(median(step.total_ns for step in self.steady))

    def share_of(self, part: str) -> float:
        """Return which share of all steady time a part takes, 0 to 1."""
        total = self.total_ns
        return sum(step.parts_ns[part] for step in self.steady) / total if total else 0.0

    def per_step_ns(self, part: str) -> float:
        """Return how many nanoseconds of the mean step a part takes, so that the parts sum to it."""
        return self.share_of(part) * self.step_ns


def break_down(trace: Trace) -> Breakdown:
    """Break down every step that has any time."""
    on_device = trace.on_device  # looks at every event, so not once a step
    windows = device_windows(trace) if on_device else [(s.number, s.start_ns, s.end_ns) for s in trace.steps]
    windows = [window for window in windows if window[2] > window[1]]
    edges = np.array([window[1:] for window in windows], np.int64).reshape(-1, 2)
    return Breakdown(
        tuple(_make_step_times(busy_intervals(trace), windows, edges, on_device)), on_device, trace.leads_in
    )


def device_windows(trace: Trace) -> list[Window]:
    """Return (number, start, end) of each step as the device lives it: the host runs ahead by some of a step. A step
    ends with the last work of the device, copies too. One that is alone lasts as long as its mark where the host does
    more than a little at its end: that is in no other step."""
    rows = trace.where(ON_DEVICE) & (trace.step >= 0)
    last = np.full(len(trace.steps), -1, np.int64)
    np.maximum.at(last, trace.step[rows], trace.start_ns[rows] + trace.duration_ns[rows])
    windows = []
    begin = trace.looked.begin_ns if trace.looked else None
    start = trace.steps[0].start_ns if begin is None else begin
    for step, device_end in zip(trace.steps, last.tolist()):
        end = max(start, device_end if device_end >= 0 else step.end_ns)
        alone = trace.marked and len(trace.steps) == 1 and not trace.looked
        end = step.end_ns if alone and step.end_ns - end > TAIL * (end - start) else end
        windows.append((step.number, start, end))
        start = end
    return windows


def busy_intervals(trace: Trace) -> dict[str, Intervals]:
    """Return for each part the intervals in which it goes on, over the whole trace, in order of precedence."""
    kinds = DEVICE_PARTS if trace.on_device else HOST_PARTS
    return {part: trace.intervals_of(trace.where(of)) for part, of in kinds.items()}


def _make_step_times(
    at_work: dict[str, Intervals], windows: list[Window], edges: I64, on_device: bool
) -> Iterator[StepTime]:
    """Break down all windows at once: `edges` (n, 2) are their starts and ends."""
    parts: dict[str, list[int]] = {part: [0] * len(windows) for part in PARTS}
    covered = EMPTY
    for part, intervals in at_work.items():
        both = covered | intervals
        parts[part] = (_covered_ns(both, edges) - _covered_ns(covered, edges)).tolist()
        covered = both
    parts["free"] = (edges[:, 1] - edges[:, 0] - _covered_ns(covered, edges)).tolist()
    computing, communication = at_work["computing"], at_work.get("communication", EMPTY)
    active = computing | communication
    either = _covered_ns(active, edges)
    overlapped = (_covered_ns(computing, edges) + _covered_ns(communication, edges) - either).tolist()
    begins = np.append(active.start_ns, 2**62)[np.searchsorted(active.end_ns, edges[:, 0], "right")]
    begun = on_device & (begins < edges[:, 1])  # elsewhere nothing was prepared
    preparing = np.where(begun, np.maximum(begins - edges[:, 0], 0), 0).tolist()
    for at, (number, start, end) in enumerate(windows):
        yield StepTime(number, start, end, {part: ns[at] for part, ns in parts.items()}, overlapped[at], preparing[at])


def _covered_ns(intervals: Intervals, edges: I64) -> I64:
    """Return how much the intervals cover of each window: (n,)."""
    before = intervals.before_ns(edges)
    inside: I64 = before[:, 1] - before[:, 0]
    return inside


def idle_gaps(trace: Trace, windows: Iterable[StepTime]) -> Intervals:
    """Return when the device does not compute, communicate or copy within the steps; cut where two steps meet."""
    covered = trace.intervals_of(trace.where(ON_DEVICE))
    edges = np.array([(window.start_ns, window.end_ns) for window in windows], np.int64).reshape(-1, 2)
    return covered.gaps_in(edges[:, 0], edges[:, 1])


def gaps_begun_in(gaps: Intervals, causes: Intervals) -> int:
    """Return the length of the gaps that begin while a cause is going on: the device ran dry then."""
    begun = causes.cover_moments(gaps.start_ns) if gaps.start_ns.size else np.zeros(0, np.bool_)
    return int((gaps.end_ns - gaps.start_ns)[begun].sum())
