"""What a profile of a simulated NPU tells by counts, structure and the host's own time. Its kernels are the CPU's, so
their times say nothing; but the host is the host that will drive an NPU, the script's lines are its lines, and what it
launches, reads and copies is the same there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.marks import COMPILED, describe_frame, function_of, is_own_frame
from ascend_workbook.profiling.causes.work import elements_of, families_of
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.trace import Trace

if TYPE_CHECKING:
    from ascend_workbook.profiling.facts import Profile

Mask = npt.NDArray[np.bool_]
#: Copies between host and device, as the script calls them
COPIES = ("aten::to", "aten::_to_copy", "aten::copy_", "aten::cpu")
#: A value that is read copies too, and is told as a read
READ = "aten::_local_scalar_dense"
#: A fallback calls this on what it takes
FALLBACK = "aten::_to_cpu"
#: From so many collectives a step on
MANY_COLLECTIVES = 20
#: `.item()`, `float(loss)`, `if tensor:`, a mask as an index end in it
READS = (READ, "aten::nonzero")
#: Calls that wait until the device has nothing left to do, as the sampler of lines notes them
WAITS = re.compile(
    r"(Tensor\.(item|tolist|nonzero|cpu|numpy|to|__bool__|__float__|__int__)|torch\.(nonzero|masked_select)"
    r"|\w+\.synchronize)$"
)
#: These wait even where they bring nothing to the host
WAITS_ALWAYS = re.compile(r"(\w+\.(nonzero|masked_select|synchronize))$")
COPYING_WAITS = ("Tensor.cpu", "Tensor.numpy", "Tensor.to", "Tensor.tolist")
#: From so many waits a step on they are told: one or two are usual, a loss that is printed
MANY_WAITS = 4
#: They are dear where the script calls so few operators between two of them, they take so much of the step, or are so
#: many
OPERATORS_A_WAIT, WAITS_WORTH, VERY_MANY_WAITS = 8, 0.04, 50
#: Small kernels are many where the script calls so many operators for them
MANY_OPERATORS = 100
#: Gives the device's memory back, to be reserved anew: no step needs it
EMPTYING = re.compile(r"(npu|cuda)\.empty_cache$")
#: A function that takes so much of the steps holds the loop: its lines are told apart, not the function as a whole
HOLDS_LOOP = 0.9
#: Of the step, from here on a word: copies of the script, fallbacks, collectives, a function of Python
WORTH = {"loading": 0.25, "blocked_copy": 0.12, "fallback": 0.05, "communication": 0.12, "python": 0.12}
#: A line computes more than all others from this part of the elements on that kernels work on
MOST_WORK = 0.5
#: A function is busy by itself in a step where it is so for so long, and a line where that is this part of its time:
#: what launches kernels needs Python between them too
BUSY_NS, OWN_PART = 300_000, 0.4
#: A step is told of from so much on: a thread is looked at once a millisecond
LEAST_NS = 1_000_000
#: The script's thread waits here for the one that runs backward
BACKWARD = ": _engine_run_backward"
#: Causes without which a step is shorter by what goes on at their place, and of these such as are counted: what these
#: are weighed by is no time that is saved
AT_PLACE = (
    *("preprocessing", "garbage", "checkpoint", "logging", "python", "compiling", "synchronisation", "blocked_copy"),
    *("tiny_kernels", "computing", "allocation"),
)
HANDED_OUT = ("tiny_kernels", "computing")
#: What a frame's name can tell of its time
EXPLAINED = ("garbage", "loading", "checkpoint", "logging", "compiling", "preprocessing", "profiler")
EDGES = ("start_ns", "end_ns")
#: A loader that starts its workers is in none of its own events
LOADER_STARTS = re.compile(r"utils/data/dataloader\.py\(\d+\): (__iter__|_get_iterator)$")
#: A loader with worker processes, and what each of its batches needs to come through their queue
QUEUED, QUEUE_NS = "_MultiProcessingDataLoaderIter", 700_000
#: A place in a script
PLACE = re.compile(r"\.\w+:\d+")
#: Causes that say by themselves why a line copies or reads
TOLD = ("checkpoint", "logging", "loading", "preprocessing", "compiling")


def add_counted(profile: Profile, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """Add to the causes of a simulated NPU's profile what counts tell, give those without a place the line that
    launches most of their kernels, and say what the step would be shorter by; others stay as they are."""
    if not profile.simulated or not profile.conclusive:
        return causes
    lines = Lines(profile)
    causes = tuple(lines.tell_from_samples(cause) if cause.kind == "preprocessing" else cause for cause in causes)
    told_lines = {cause.where for cause in causes if cause.kind in TOLD}
    counted = [cause for cause in _count_causes(lines) if cause.where not in told_lines]
    kinds = {cause.kind for cause in counted}
    if lines.operators < MANY_OPERATORS:
        causes = tuple(cause for cause in causes if cause.evidence.key != "PRF316.kernels")
    rest = [lines.place_cause(cause) for cause in causes if cause.kind not in kinds and cause.kind != "untold"]
    rest = [cause for cause in rest if cause.kind != "python" or lines.recurs(cause.where)]
    rest = [lines.weigh_loading(cause) if cause.kind == "loading" else cause for cause in rest]
    rest = [cause for cause in rest if cause.kind != "loading" or cause.share >= WORTH["loading"]]
    # a copy within an operator of torch, as a gradient is put together: no line of the script asks for it
    rest = [cause for cause in rest if cause.kind != "blocked_copy" or PLACE.search(cause.where)]
    named = [lines.predict(cause) for cause in (*counted, *rest)]
    return tuple(sorted(named, key=lambda cause: -cause.weight))


@dataclass(frozen=True)
class Lines:
    """The script's lines at which the host is, of a profile's steady steps."""

    profile: Profile

    @property
    def trace(self) -> Trace:
        return self.profile.trace

    @cached_property
    def steady(self) -> Mask:
        """Return a mask (n,) of the events in the steady steps."""
        return self.trace.in_steps({step.number for step in self.profile.breakdown.steady})

    @property
    def steps(self) -> int:
        return max(1, len(self.profile.breakdown.steady))

    @cached_property
    def frames(self) -> Nesting | None:
        """Return the script's own frames on the thread that trains, nested; None where none was recorded."""
        trace = self.trace
        own = trace.mask_of_names(is_own_frame) & trace.where(("python",))
        rows = np.flatnonzero(own)
        if not rows.size:
            return None
        lane = int(np.bincount(trace.lane[rows]).argmax())
        rows = rows[trace.lane[rows] == lane]
        return Nesting(trace.start_ns[rows], trace.duration_ns[rows], rows)

    def lines_at(self, moments_ns: I64) -> npt.NDArray[np.int64]:
        """Return for each moment the name of the innermost of the script's own frames, as its place in the trace's
        names, or -1."""
        if self.frames is None:
            return np.full(moments_ns.size, -1, np.int64)
        rows = self.frames.innermost_at(moments_ns)
        return np.where(rows >= 0, self.trace.name[np.maximum(rows, 0)], -1).astype(np.int64)

    def spent_at(self, where: str) -> float:
        """Return the nanoseconds of the mean step in which the host is in the function at this place; where that
        function holds the loop, at this line alone."""
        frames, trace = self.frames, self.trace
        if frames is None:
            return 0.0
        functions = {function_of(name) for name in trace.names if describe_frame(name) == where}
        by_function = np.array([function_of(name) in functions for name in trace.names])
        by_line = np.array([describe_frame(name) == where for name in trace.names])
        spent = [self._spent_in(chosen[trace.name[frames.rows]]) for chosen in (by_function, by_line)]
        return spent[1] if spent[0] >= HOLDS_LOOP * self.profile.breakdown.step_ns else spent[0]

    def _spent_in(self, chosen: Mask) -> float:
        assert self.frames is not None
        rows = chosen & self.steady[self.frames.rows]
        return Intervals.union_of(self.frames.start_ns[rows], self.frames.end_ns[rows]).length_ns / self.steps

    def dearest_line(self, rows: npt.NDArray[np.intp]) -> str:
        """Return the line from which most of these events of the host come, by their number; empty where none is
        known."""
        return self.dearest_place(rows)[0]

    def dearest_place(self, rows: npt.NDArray[np.intp]) -> tuple[str, float]:
        """Return the line from which most of these events of the host come, and their part; empty where none is known.
        Those of the script's own thread tell it: the backward ones have no line of their own."""
        if self.frames is not None and self.frames.rows.size:
            own = rows[self.trace.lane[rows] == self.trace.lane[self.frames.rows[0]]]
            rows = own if own.size else rows
        names = self.lines_at(self.trace.start_ns[rows])
        counts = np.bincount(names[names >= 0])
        if not counts.size:
            return "", 0.0
        return describe_frame(self.trace.names[int(counts.argmax())]), float(counts.max()) / rows.size

    @cached_property
    def alone(self) -> Intervals:
        """Return when the host hands out no work, waits for no loader and no backward, updates no parameter and does
        nothing that has a cause of its own: Python, and operators that run on the host's own tensors."""
        trace = self.trace
        at_work = self.hands_out | trace.where(("loading", "annotation")) | trace.mask_of_names(_is_explained)
        begins, ends = (np.array([getattr(step, edge) for step in trace.steps], np.int64) for edge in EDGES)
        return trace.intervals_of(at_work).gaps_in(begins, ends)

    @cached_property
    def hands_out(self) -> Mask:
        """Return a mask (n,) of the operators that launch something, or one within them does; of all where the trace
        does not tell what launched what."""
        trace = self.trace
        operators = trace.where(("host_op",))
        launches = np.unique(trace.launched_by[trace.launched_by >= 0])
        if not launches.size:
            return operators
        hands_out = np.zeros(len(trace), np.bool_)
        rows = np.flatnonzero(operators)
        for lane in np.unique(trace.lane[rows]).tolist():
            own = rows[trace.lane[rows] == lane]
            moments = np.sort(trace.start_ns[launches[trace.lane[launches] == lane]])
            begin, end = trace.start_ns[own], trace.start_ns[own] + trace.duration_ns[own]
            hands_out[own] = np.searchsorted(moments, end) > np.searchsorted(moments, begin)
        return hands_out

    def recurs(self, where: str) -> bool:
        """Return whether the host is alone at a place in more than half of the steady steps: what another process on
        the machine takes falls here and there."""
        if self.frames is None:
            return True
        trace = self.trace
        here = np.array([describe_frame(name) == where for name in trace.names])[trace.name[self.frames.rows]]
        chosen = np.flatnonzero(here & self.steady[self.frames.rows])
        spent = self.alone.before_ns(self.frames.end_ns[chosen]) - self.alone.before_ns(self.frames.start_ns[chosen])
        busy = np.bincount(trace.step[self.frames.rows[chosen]], weights=spent, minlength=1)
        return 2 * int((busy >= BUSY_NS).sum()) > self.steps

    @cached_property
    def operators(self) -> float:
        """Return how many operators the script itself calls in a step that launch something: one may be many kernels of
        the CPU's and one of an NPU's, as a whole GRU is."""
        if self.frames is None or not self.frames.rows.size:
            return math.inf
        trace = self.trace
        rows = np.flatnonzero(self.hands_out & self.steady & (trace.lane == trace.lane[self.frames.rows[0]]))
        return _count_outermost(trace, rows) / self.steps

    def tell_from_samples(self, cause: Cause) -> Cause:
        """Return a cause of preparing samples as one of the script's own code where its function fetches tensors from
        the device in each step: it computes on the host with what the device has made."""
        trace = self.trace
        if self.frames is None:
            return cause
        function = {function_of(name) for name in trace.names if describe_frame(name) == cause.where}
        fetched = trace.mask_of_names(COPYING_WAITS.__contains__) & trace.where(("python",)) & self.steady
        own = trace.mask_of_names(lambda name: function_of(name) in function)[self.frames.rows]
        inside = Intervals.union_of(self.frames.start_ns[own], self.frames.end_ns[own])
        moments = _launching(trace, np.flatnonzero(fetched))
        if int(inside.cover_moments(moments).sum()) < self.steps:
            return cause
        return replace(cause, kind="python", evidence=Sentence("PRF316.python", **cause.evidence.args))

    def weigh_loading(self, cause: Cause) -> Cause:
        """Return the loader's cause with what the loop waits for it by the loader's own events: sampled frames are less
        exact. What a queue of worker processes itself takes is not counted: another loader takes it too."""
        trace = self.trace
        own = trace.where(("loading",))
        if not (own & self.steady).any():
            return cause
        starts = trace.where(("python",)) & trace.mask_of_names(lambda name: LOADER_STARTS.search(name) is not None)
        rows = np.flatnonzero((own | starts) & self.steady)
        spans = Intervals.union_of(trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows])
        queues = int((own & self.steady & trace.mask_of_names(lambda name: QUEUED in name)).sum())
        spent = max(0.0, float(spans.length_ns - queues * QUEUE_NS)) / self.steps
        share = min(1.0, spent / self.profile.breakdown.step_ns)
        args = {**cause.evidence.args, "gain_ms": self.profile.to_ms(spent), "share": round(100 * share, 1)}
        weighed = replace(cause, spent_ns=spent, share=share, evidence=Sentence(cause.evidence.key, **args))
        return replace(weighed, predicted=Range(spent, spent))

    def place_cause(self, cause: Cause) -> Cause:
        """Return a cause that is told by its kernels with the line that launches most of them, where it has none; of
        small kernels the line of the script's own thread: the backward ones have none of their own."""
        trace = self.trace
        placed = cause.kind != "tiny_kernels" and PLACE.search(cause.where)
        if cause.kind not in ("layout", "casting", "tiny_kernels") or placed or self.frames is None:
            return cause
        rows = np.flatnonzero(trace.where(("compute",)) & self.steady & (trace.launched_by >= 0))
        if cause.kind != "tiny_kernels":
            rows = rows[families_of(trace, rows) == cause.kind]
        by = trace.launched_by[rows].astype(np.intp)
        where = self.dearest_line(by) or cause.where
        args = {**cause.evidence.args, "where": where} if "where" in cause.evidence.args else cause.evidence.args
        return replace(cause, where=where, evidence=Sentence(cause.evidence.key, **args))

    def predict(self, cause: Cause) -> Cause:
        """Return a cause with what the step would be shorter by without it: what goes on at its place, or, where its
        kernels are all over the step, what they take and their part of what the host needs to hand them out."""
        saved = cause.spent_ns
        if cause.kind in AT_PLACE and cause.where:
            at_place = self.spent_at(cause.where)
            saved = at_place if cause.kind in HANDED_OUT else max(saved, at_place)
        elif cause.kind in ("layout", "casting"):
            rows = np.flatnonzero(self.trace.where(("compute",)) & self.steady)
            part = float((families_of(self.trace, rows) == cause.kind).mean()) if rows.size else 0.0
            saved += part * self.profile.breakdown.per_step_ns("free")
        elif cause.predicted is not None or cause.kind not in ("fallback", "communication"):
            return cause
        return replace(cause, predicted=Range(saved, saved))


def count_work(profile: Profile) -> dict[str, float]:
    """Count what a step's kernels work on, elements by the line of the script that the host is at: on a simulated NPU
    this tells what differs between ranks, whose kernels take turns on one CPU."""
    lines, trace = Lines(profile), profile.trace
    rows = np.flatnonzero(trace.where(("compute",)) & lines.steady & (trace.launched_by >= 0))
    if lines.frames is None or not rows.size:
        return {}
    by = trace.launched_by[rows].astype(np.intp)
    elements = np.array([elements_of(shape) for shape in trace.shapes])[trace.shape[by]]
    names = lines.lines_at(trace.start_ns[by])
    known = names >= 0
    total = np.bincount(names[known], weights=elements[known])
    return {describe_frame(trace.names[at]): float(total[at]) / lines.steps for at in np.flatnonzero(total).tolist()}


def _count_causes(lines: Lines) -> Iterator[Cause]:
    yield from _count_copies(lines)
    yield from _count_waits(lines)
    yield from _count_emptying(lines)
    yield from _count_fallbacks(lines)
    yield from _count_collectives(lines)
    yield from _count_busy_functions(lines)
    yield from _count_computing(lines)


def _count_copies(lines: Lines) -> Iterator[Cause]:
    """Copies between host and device at lines of the script: not the loader's, and not a value that is read."""
    trace, frames = lines.trace, lines.frames
    device = np.flatnonzero(trace.where(("copy",)) & lines.steady & (trace.launched_by >= 0))
    rows = np.unique(trace.launched_by[device]).astype(np.intp)
    rows = rows[~trace.mask_of_names(READ.__eq__)[rows]]
    rows = rows[~trace.intervals_of(trace.where(("loading",))).cover_moments(trace.start_ns[rows])]
    if frames is None or not rows.size:
        return
    rows = np.unique(_find_outermost(lines, rows))
    names = lines.lines_at(trace.start_ns[rows])
    best, where, calls = 0.0, "", 0
    for name in np.unique(names[names >= 0]).tolist():
        chosen = rows[names == name]
        spent = Intervals.union_of(trace.start_ns[chosen], trace.start_ns[chosen] + trace.duration_ns[chosen])
        if spent.length_ns > best:
            best, where, calls = float(spent.length_ns), describe_frame(trace.names[name]), chosen.size
    if best / lines.steps >= WORTH["blocked_copy"] * lines.profile.breakdown.step_ns:
        yield _make_cause(lines, "blocked_copy", "copies", best / lines.steps, where, calls=round(calls / lines.steps))


def _find_outermost(lines: Lines, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return for each copying operator the outermost one around it that copies too."""
    trace = lines.trace
    is_copy = trace.mask_of_names(COPIES.__contains__) & trace.where(("host_op",))
    hosts = np.flatnonzero(is_copy)
    outermost: npt.NDArray[np.intp] = rows.copy()
    for lane in np.unique(trace.lane[rows]).tolist():
        inside = hosts[trace.lane[hosts] == lane]
        nesting = Nesting(trace.start_ns[inside], trace.duration_ns[inside], inside)
        place = {int(row): at for at, row in enumerate(nesting.rows)}
        for at in np.flatnonzero(trace.lane[rows] == lane).tolist():
            inner = place.get(int(rows[at]), -1)
            while inner >= 0 and nesting.parent[inner] >= 0:
                inner = int(nesting.parent[inner])
            outermost[at] = nesting.rows[inner] if inner >= 0 else rows[at]
    return outermost


def _count_fallbacks(lines: Lines) -> Iterator[Cause]:
    trace = lines.trace
    marks = _rows_of(lines, (FALLBACK,))
    if not marks.size:
        return
    hosts = np.flatnonzero(trace.where(("host_op",)) & lines.steady)
    callers = []
    for lane in np.unique(trace.lane[marks]).tolist():
        inside = hosts[trace.lane[hosts] == lane]
        nesting = Nesting(trace.start_ns[inside], trace.duration_ns[inside], inside)
        above = nesting.parent[np.isin(nesting.rows, marks)]
        callers.append(nesting.rows[above[above >= 0]])
    rows = np.unique(np.concatenate(callers)).astype(np.intp)
    spent = float(trace.duration_ns[rows].sum()) / lines.steps
    if rows.size and spent >= WORTH["fallback"] * lines.profile.breakdown.step_ns:
        yield _make_cause(lines, "fallback", "fallback", spent, lines.dearest_line(rows))


def _count_collectives(lines: Lines) -> Iterator[Cause]:
    """Many collectives a step: each costs its start, however little it sends."""
    profile, trace = lines.profile, lines.trace
    rows = np.flatnonzero(trace.where(("communication",)) & lines.steady)
    share, calls = profile.breakdown.share_of("communication"), rows.size / lines.steps
    if calls >= MANY_COLLECTIVES and share >= WORTH["communication"]:
        spent = share * profile.breakdown.step_ns
        by = trace.launched_by[rows]
        where = lines.dearest_line(by[by >= 0].astype(np.intp))
        yield _make_cause(lines, "communication", "collectives", spent, where, calls=round(calls))


def _count_waits(lines: Lines) -> Iterator[Cause]:
    """On a simulated NPU nothing waits for a device: calls that would are counted, and what they take. Where tensors
    come to the host it is their copy that waits."""
    trace = lines.trace
    on_host = trace.where(("loading",)) | trace.mask_of_names(lambda name: name.startswith("Optimizer.step#"))
    hosts = trace.intervals_of(on_host)
    noted = np.flatnonzero(lines.steady & trace.where(("python",)) & trace.mask_of_names(_is_wait))
    reads = _rows_of(lines, READS)
    # a value that lies on the host is read without a copy, and waits for nothing
    of_device = np.isin(reads, trace.launched_by[trace.where(("copy",))])
    reads = reads[of_device | trace.mask_of_names("aten::nonzero".__eq__)[reads]]
    always = noted[trace.mask_of_names(_always_waits)[noted]]
    noted = np.union1d(always, noted[np.isin(trace.start_ns[noted], _launching(trace, noted))])
    reads = reads[~trace.intervals_of(_mask_of(trace, noted)).cover_moments(trace.start_ns[reads])]
    rows = np.concatenate([noted, reads]).astype(np.intp)
    rows = rows[~hosts.cover_moments(trace.start_ns[rows])]
    spans = Intervals.union_of(trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows])
    calls = _count_outermost(trace, rows) / lines.steps
    share = spans.length_ns / lines.steps / lines.profile.breakdown.step_ns
    dear = share >= WAITS_WORTH or lines.operators <= OPERATORS_A_WAIT * calls or calls >= VERY_MANY_WAITS
    if calls < MANY_WAITS or not dear:
        return
    copying = np.isin(rows, noted) & trace.mask_of_names(COPYING_WAITS.__contains__)[rows]
    kind, key = ("blocked_copy", "fetches") if 2 * int(copying.sum()) > rows.size else ("synchronisation", "reads")
    where, part = lines.dearest_place(rows)
    cause = _make_cause(lines, kind, key, spans.length_ns / lines.steps, where, part, calls=round(calls))
    yield replace(cause, confidence="likely")


def _always_waits(name: str) -> bool:
    return WAITS_ALWAYS.match(name) is not None


def _launching(trace: Trace, rows: npt.NDArray[np.intp]) -> I64:
    """Return when those of these calls begin within which a copy is launched."""
    copies = np.unique(trace.launched_by[trace.where(("copy",))])
    copy_ns = np.sort(trace.start_ns[copies[copies >= 0]])
    begin, end = trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows]
    moments: I64 = begin[np.searchsorted(copy_ns, end) > np.searchsorted(copy_ns, begin)]
    return moments


def _count_outermost(trace: Trace, rows: npt.NDArray[np.intp]) -> int:
    """Count those of one thread's events that lie in none of the others."""
    return int((Nesting(trace.start_ns[rows], trace.duration_ns[rows], rows).parent < 0).sum())


def _is_wait(name: str) -> bool:
    return WAITS.match(name) is not None


def _mask_of(trace: Trace, rows: npt.NDArray[np.intp]) -> Mask:
    mask = np.zeros(len(trace), np.bool_)
    mask[rows] = True
    return mask


def _count_emptying(lines: Lines) -> Iterator[Cause]:
    trace = lines.trace
    given_back = trace.mask_of_names(lambda name: EMPTYING.match(name) is not None)
    rows = np.flatnonzero(lines.steady & trace.where(("python",)) & given_back)
    if rows.size >= lines.steps:
        spent = float(trace.duration_ns[rows].sum()) / lines.steps
        where, part = lines.dearest_place(rows)
        cause = _make_cause(lines, "allocation", "emptied", spent, where, part, calls=round(rows.size / lines.steps))
        yield replace(cause, confidence="likely")


def _count_computing(lines: Lines) -> Iterator[Cause]:
    """The line at which kernels work on more than all others do: in a training that is its backward, which is nothing
    to change, else what is computed beside it."""
    frames, trace = lines.frames, lines.trace
    work = count_work(lines.profile)
    if frames is None or not work:
        return
    where = max(work, key=work.__getitem__)
    part = work[where] / max(1.0, sum(work.values()))
    in_backward = trace.intervals_of(trace.where(("python",)) & trace.mask_of_names(lambda name: BACKWARD in name))
    here = np.array([describe_frame(name) == where for name in trace.names])[trace.name[frames.rows]]
    chosen = np.flatnonzero(here & lines.steady[frames.rows])
    begin, end = frames.start_ns[chosen], frames.end_ns[chosen]
    spent = float((end - begin).sum())
    if part < MOST_WORK or 2 * float((in_backward.before_ns(end) - in_backward.before_ns(begin)).sum()) > spent:
        return
    yield _make_cause(lines, "computing", "computes", spent / lines.steps, where, part)


def _count_busy_functions(lines: Lines) -> Iterator[Cause]:
    """The line of the loop at which the host is busy the longest without any operator, loader or optimizer, or the
    function called there that takes most of it."""
    frames, trace = lines.frames, lines.trace
    if frames is None:
        return
    names = trace.name[frames.rows]
    alone = lines.alone.before_ns(frames.end_ns) - lines.alone.before_ns(frames.start_ns)
    steady = lines.steady[frames.rows]
    spent = np.where(steady, alone, 0)
    numbers: dict[str, int] = {}
    function_of_name = np.array([numbers.setdefault(function_of(name), len(numbers)) for name in trace.names])
    function = function_of_name[names]
    lasts = np.bincount(function[steady], (frames.end_ns - frames.start_ns)[steady], len(numbers))
    of_loop = (lasts >= HOLDS_LOOP * lines.steps * lines.profile.breakdown.step_ns)[function]
    calls_loop = np.zeros(of_loop.size, np.bool_)
    calls_loop[frames.parent[of_loop & (frames.parent >= 0)]] = True
    # the outermost frame, where it is no whole script, is all that is known of what goes on there
    is_known = (frames.parent >= 0) | trace.mask_of_names(lambda name: name.endswith(": <module>"))[frames.rows]
    at_line = is_known & of_loop & ~calls_loop
    called = is_known & ~of_loop & np.append(of_loop, True)[frames.parent]
    chosen = _choose_group(at_line | called, np.where(at_line, names, len(trace.names) + function), spent)
    while chosen.any():
        inner = _choose_group(np.isin(frames.parent, np.flatnonzero(chosen)), function, spent)
        if 2 * spent[inner].sum() < spent[chosen].sum():
            break
        chosen = inner
    busy = float(spent[chosen].sum()) / lines.steps
    took = float((frames.end_ns - frames.start_ns)[chosen & steady].sum()) / lines.steps
    if busy < max(WORTH["python"] * lines.profile.breakdown.step_ns, LEAST_NS) or busy < OWN_PART * took:
        return
    by_line = np.bincount(names[chosen], weights=spent[chosen])
    yield _make_cause(lines, "python", "function", busy, describe_frame(trace.names[int(by_line.argmax())]))


def _choose_group(allowed: Mask, group: npt.NDArray[np.integer], spent: I64) -> Mask:
    """Return the rows of the group on which most is spent."""
    if not allowed.any():
        return allowed
    best = int(np.bincount(group[allowed], spent[allowed]).argmax())
    chosen: Mask = allowed & (group == best)
    return chosen


def _is_explained(name: str) -> bool:
    """Return whether a frame has a cause of its own, or waits for backward."""
    return BACKWARD in name or any(COMPILED[mark].search(name) for mark in EXPLAINED)


def _rows_of(lines: Lines, names: tuple[str, ...]) -> npt.NDArray[np.intp]:
    trace = lines.trace
    return np.flatnonzero(trace.mask_of_names(names.__contains__) & trace.where(("host_op",)) & lines.steady)


def _make_cause(
    lines: Lines, kind: str, key: str, spent_ns: float, where: str, part: float = 1.0, **evidence: Scalar
) -> Cause:
    profile = lines.profile
    share = min(1.0, spent_ns / profile.breakdown.step_ns)
    place = (
        Sentence("profiling.cause_at", where=where, part=round(100 * part))
        if where
        else Sentence("profiling.cause_nowhere")
    )
    args: dict[str, Scalar] = {"gain_ms": profile.to_ms(spent_ns), "share": round(100 * share, 1), "place": place}
    return Cause(kind, spent_ns, share, where, Sentence(f"PRF316.{key}", **args, **evidence), "sure")
