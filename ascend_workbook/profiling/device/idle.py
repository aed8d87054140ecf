"""Why the device rests: each piece of idle time has one cause, and the causes sum to the idle time.

An idle gap ends where a kernel (collective, copy) starts. What the host did until it launched that one is the cause of
the piece before the launch; the piece between launch and start is no fault of the host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.breakdown import StepTime, idle_gaps
from ascend_workbook.profiling.intervals import EMPTY, I64, Intervals
from ascend_workbook.profiling.trace import ON_DEVICE, UNTOLD, Trace

#: In order of precedence: a moment in which data load counts as loading, whatever else the host does
CAUSES = ("loading", "compiling", "synchronisation", "host", "start", "unexplained")
#: Calls in which kernels are built or loaded; they come in the first steps. What torch.compile made runs under names
#: with "Compiled" (Torch-Compiled Region, CompiledFunction, Call CompiledFxGraph) in every step and builds nothing.
COMPILES = re.compile("Compile(?!d)|compile_inner|ModuleLoad|LibraryLoad")


@dataclass(frozen=True)
class Gaps:
    """Idle gaps in order of time, columns (n,): `launch_ns` when the host launched what starts where the gap ends,
    UNTOLD where unknown; `dry` whether the host waited for the device when the gap began."""

    start_ns: I64
    end_ns: I64
    launch_ns: I64
    dry: npt.NDArray[np.bool_]

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        known: npt.NDArray[np.bool_] = self.launch_ns != UNTOLD
        return known

    def split_by_launch(self) -> dict[str, Intervals]:
        """Split the gaps into pieces by what the launches tell alone."""
        launched = np.clip(self.launch_ns, self.start_ns, self.end_ns)
        known, dry = self.known, self.dry
        return {
            "synchronisation": _select_pieces(self.start_ns, launched, known & dry),
            "host": _select_pieces(self.start_ns, launched, known & ~dry),
            "start": _select_pieces(launched, self.end_ns, known),
            "unexplained": _select_pieces(self.start_ns, self.end_ns, ~known),
        }


def gaps_of(trace: Trace, steps: Sequence[StepTime], waiting: Intervals) -> Gaps:
    """Return the gaps within the steps. `waiting`: when the host waits for the device."""
    gaps = idle_gaps(trace, steps) if steps else EMPTY
    rows = np.flatnonzero(trace.where(ON_DEVICE))
    # of several that start at once the one that was launched first, those of unknown launch last
    known = np.where(trace.launch_ns[rows] == UNTOLD, np.iinfo(np.int64).max, trace.launch_ns[rows])
    rows = rows[np.lexsort((known, trace.start_ns[rows]))]
    begins = trace.start_ns[rows]
    at = np.searchsorted(begins, gaps.end_ns, "left")
    hit = begins[np.minimum(at, begins.size - 1)] == gaps.end_ns if rows.size else np.zeros(at.size, np.bool_)
    launches = np.append(trace.launch_ns[rows], np.int64(UNTOLD))
    launch = np.where(hit, launches[np.minimum(at, rows.size)], UNTOLD)
    return Gaps(gaps.start_ns, gaps.end_ns, launch, waiting.cover_moments(gaps.start_ns))


def idle_by_cause(trace: Trace, steps: Sequence[StepTime], waiting: Intervals) -> dict[str, int]:
    """Return the nanoseconds of the steps' idle time (free and loading) by cause, in the order of CAUSES."""
    gaps = gaps_of(trace, steps, waiting)
    parts = gaps.split_by_launch()
    idle = Intervals(gaps.start_ns, gaps.end_ns)
    loading = trace.intervals_of(trace.where(("loading",)))
    # nothing is built in a moment of which the launch is not known to lie behind it
    early = parts["synchronisation"] | parts["host"]
    compiling = trace.intervals_of(trace.where(("host_op", "runtime", "python")) & trace.mask_of_names(COMPILES.search))
    spent = {"loading": idle.common_ns(loading)}
    spent["compiling"] = (early - loading).common_ns(compiling)
    for cause in ("synchronisation", "host"):
        spent[cause] = (parts[cause] - loading - compiling).length_ns
    for cause in ("start", "unexplained"):
        spent[cause] = (parts[cause] - loading).length_ns
    if sum(spent.values()) != idle.length_ns:
        raise ValueError(f"the causes sum to {sum(spent.values())} ns, the idle time is {idle.length_ns} ns")
    return spent


def _select_pieces(start: I64, end: I64, wanted: npt.NDArray[np.bool_]) -> Intervals:
    """Return the wanted ones of these pieces as intervals."""
    return Intervals.union_of(start[wanted], end[wanted])


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
    is_known = trace.launch_ns[rows] != UNTOLD
    moments, launch = np.unique(trace.launch_ns[rows[is_known]], return_inverse=True)
    together = np.zeros(moments.size, np.int64)
    np.add.at(together, launch, kernels[is_known])
    by_launch = np.concatenate([together, kernels[~is_known]])
    short = by_launch[by_launch < SHORT_NS]
    device = trace.where(ON_DEVICE)
    wanted = inside & device & (trace.launch_ns != UNTOLD)
    kernel_ns, short_ns, launched, every = (int(column.sum()) for column in (kernels, short, wanted, inside & device))
    summary = Launches(kernels.size, by_launch.size, kernel_ns, short.size, short_ns, launched, every)
    if not summary.known:
        return summary
    moments, of = np.unique(trace.launch_ns[wanted], return_inverse=True)
    first = np.full(moments.size, np.iinfo(np.int64).max)
    np.minimum.at(first, of, trace.start_ns[wanted])
    latency = np.maximum(first - moments, 0)  # the two clocks differ by microseconds
    known = device & (trace.launch_ns != UNTOLD)
    queue = count_waiting(trace.launch_ns[wanted], trace.launch_ns[known], trace.start_ns[known])
    return replace(summary, latency_ns=_middle_and_high(latency), queue=_middle_and_high(queue))


def count_waiting(moments: I64, launch_ns: I64, start_ns: I64) -> I64:
    """Count the launched kernels that have not started at each moment: (n,). The one launched then does not count."""
    launched = np.searchsorted(np.sort(launch_ns), moments, "left")
    started = np.searchsorted(np.sort(np.maximum(start_ns, launch_ns)), moments, "left")
    return (launched - started).astype(np.int64)


def _middle_and_high(values: I64) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    middle, high = np.percentile(values, (50, 95))
    return float(middle), float(high)
