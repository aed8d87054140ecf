"""How much of a step's communication its kernels do not hide, as its own waits between streams have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.planning.rehearsal.clock import Span, run_clock, take_high, take_low, take_middle
from ascend_workbook.planning.rehearsal.settings import Cluster
from ascend_workbook.planning.rehearsal.times import StepTime
from ascend_workbook.planning.rehearsal.work import Mark, Work

MICRO = 1_000


def add_exposed(times: StepTime, work: Work, cluster: Cluster, basis: Basis) -> StepTime:
    """Return the step's times with what communication would hold it up, and the step that follows: kernels and what is
    exposed, never less than the launches. Unchanged where nothing is exchanged or no order of streams was recorded."""
    if not work.collectives or not any(isinstance(task, Mark) for task in work.tasks):
        return times
    paces = ((take_high, take_low), (take_middle, take_middle), (take_low, take_high))
    clocks = [run_clock({0: work}, cluster, basis, *pace)[0] for pace in paces]
    low, middle, high = sorted(measure_exposed(spans) / MICRO for spans in clocks)
    exposed = Range(low, middle, high)
    least = max(times.compute.low + low, times.launches.low)
    most = max(times.compute.high + high, times.launches.high)
    likely = max(span.end_ns for span in clocks[1]) / MICRO
    step = Range(least, min(max(likely, least), most), most)
    return replace(times, exposed=exposed, step=step)


def measure_exposed(spans: Sequence[Span]) -> int:
    """Return the nanoseconds in which a collective runs and no kernel does."""
    exchanges = _join([(span.start_ns, span.end_ns) for span in spans if span.kind == "collective"])
    kernels = _join([(span.start_ns, span.end_ns) for span in spans if span.kind == "kernel"])
    hidden, at = 0, 0
    for start, end in exchanges:
        while at < len(kernels) and kernels[at][1] <= start:
            at += 1
        later = at
        while later < len(kernels) and kernels[later][0] < end:
            begin, finish = kernels[later]
            hidden += min(end, finish) - max(start, begin)
            later += 1
    return sum(end - start for start, end in exchanges) - hidden


def _join(intervals: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the intervals in order, those that touch as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
