"""From the host's launch to the kernel's start, how many kernels wait in the queue, and how many are short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ascend_workbook.profiling.breakdown import StepTime
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.trace import UNTOLD, Trace

SHORT_NS = 10_000


@dataclass(frozen=True)
class Launches:
    """Of the steps looked at, in nanoseconds: kernels (without collectives and copies), by how many launches
    (those of a graph share one, one without a known launch has its own), how many of these take under SHORT_NS and the
    time of these; `latency_ns` and `queue` are (median, 95th percentile) over the launches that are known, of which
    there are `known` of all device events, `of`. `latency_ns` and `queue` are None where none is known."""

    kernels: int
    launched: int
    kernel_ns: int
    short: int
    short_ns: int
    known: int
    of: int
    latency_ns: tuple[float, float] | None = None
    queue: tuple[float, float] | None = None


def summarise_launches(trace: Trace, steps: Sequence[StepTime]) -> Launches:
    """Summarise how the kernels that start within the steps came to the device."""
    begin, end = steps[0].start_ns, steps[-1].end_ns
    inside = (trace.start_ns >= begin) & (trace.start_ns < end)
    rows = np.flatnonzero(inside & trace.where(("compute",)))
    kernels = trace.duration_ns[rows]
    by_launch = _sum_by_launch(trace.launch_ns[rows], kernels)
    short = by_launch[by_launch < SHORT_NS]
    device = trace.where(("compute", "communication", "copy"))
    wanted = inside & device & (trace.launch_ns != UNTOLD)
    summary = Launches(
        kernels.size,
        by_launch.size,
        int(kernels.sum()),
        short.size,
        int(short.sum()),
        int(wanted.sum()),
        int((inside & device).sum()),
    )
    if not summary.known:
        return summary
    moments, of = np.unique(trace.launch_ns[wanted], return_inverse=True)
    first = np.full(moments.size, np.iinfo(np.int64).max)
    np.minimum.at(first, of, trace.start_ns[wanted])
    latency = np.maximum(first - moments, 0)  # the two clocks differ by microseconds
    known = device & (trace.launch_ns != UNTOLD)
    queue = count_waiting(trace.launch_ns[wanted], trace.launch_ns[known], trace.start_ns[known])
    return replace(summary, latency_ns=_middle_and_high(latency), queue=_middle_and_high(queue))


def _sum_by_launch(launch_ns: I64, duration_ns: I64) -> I64:
    """Return what the kernels of each launch take together, in nanoseconds."""
    known = launch_ns != UNTOLD
    moments, of = np.unique(launch_ns[known], return_inverse=True)
    together = np.zeros(moments.size, np.int64)
    np.add.at(together, of, duration_ns[known])
    return np.concatenate([together, duration_ns[~known]])


def count_waiting(moments: I64, launch_ns: I64, start_ns: I64) -> I64:
    """Count the launched kernels that have not started at each moment: (n,). The one launched then does not count."""
    launched = np.searchsorted(np.sort(launch_ns), moments, "left")
    started = np.searchsorted(np.sort(np.maximum(start_ns, launch_ns)), moments, "left")
    return (launched - started).astype(np.int64)


def _middle_and_high(values: I64) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    middle, high = np.percentile(values, (50, 95))
    return float(middle), float(high)
