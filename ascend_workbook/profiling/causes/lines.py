"""The lines of the script at which the host is in a simulated NPU's profile, and what goes on at each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.attribution import Nesting, find_innermost, nest_by_lane
from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.marks import COMPILED, describe_frame, function_of, is_own_frame
from ascend_workbook.profiling.causes.work import families_of
from ascend_workbook.profiling.intervals import EMPTY, I64, Intervals
from ascend_workbook.profiling.trace import Step, Trace

if TYPE_CHECKING:
    from ascend_workbook.profiling.facts import Profile

Mask = npt.NDArray[np.bool_]
#: A function that takes so much of the steps holds the loop: its lines are told apart, not the function as a whole
HOLDS_LOOP = 0.9
#: What an operator of the script costs an NPU's host, with its gradient and its part of the update
OPERATOR_NS = 100_000
#: A line is seen so much later than it begins, at most where nothing keeps the interpreter
SEEN_LATE_NS = 2_000_000
#: A function is busy by itself in a step where it is so for so long
BUSY_NS = 300_000
#: These bring tensors to the host
COPYING_WAITS = ("Tensor.cpu", "Tensor.numpy", "Tensor.to", "Tensor.tolist")
#: The script's thread waits here for the one that runs backward
BACKWARD = ": _engine_run_backward"
#: Around each operator of backward
NODE = "autograd::engine::evaluate_function: "
#: Causes without which a step is shorter by what goes on at their place, and of these such as are told by what is
#: called there, all over the function
AT_PLACE = (
    *("preprocessing", "garbage", "checkpoint", "logging", "python", "compiling", "synchronisation", "blocked_copy"),
    *("tiny_kernels", "computing", "allocation", "fallback"),
)
EXPLAINED_BY_NAME = ("preprocessing", "garbage", "checkpoint", "logging", "python", "compiling")
#: Of a step; a thread is looked at once a millisecond: of what takes less it is by chance that it was seen
SEEN_NS = 500_000
#: What a frame's name can tell of its time
EXPLAINED = ("garbage", "loading", "checkpoint", "logging", "compiling", "preprocessing", "profiler")
#: Recording one operator adds so much at most: where steps before the recording were shorter still, less went on beside
#: them on the machine
MOST_EVENT_NS = 15_000
#: The same of all of them, of the step
MOST_ADDED = 0.8
#: From so many on, steps that were not recorded tell by themselves what one takes
MANY_CALM = 4
#: What is counted with what it would save
WEIGHED = (
    *(
        "PRF316.loops",
        "PRF316.again",
        "PRF316.unused",
        "PRF316.alike",
        "PRF316.objects",
        "PRF316.samples",
        "PRF316.function",
    ),
    *("PRF316.on_host", "PRF316.watched", "PRF316.thread", "PRF316.line", "PRF316.forward_again"),
    "PRF316.forward_only",
    "PRF316.forward_same",
    "PRF316.derived",
    "PRF316.recomputed",
    "PRF316.update",
)
EDGES = ("start_ns", "end_ns")
#: The call of a module of a class of the script's own
OWN_MODULE = re.compile(r"^module#\d+ own$")
#: A loader that starts its workers is in none of its own events
LOADER_STARTS = re.compile(r"utils/data/dataloader\.py\(\d+\): (__iter__|_get_iterator)$")
#: A loader with worker processes, and what each of its batches needs to come through their queue
QUEUED, QUEUE_NS = "_MultiProcessingDataLoaderIter", 700_000
#: A place in a script
PLACE = re.compile(r"\.\w+:\d+")


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
        if self.frames is None:
            return "", 0.0
        if self.frames.rows.size:
            own = rows[self.trace.lane[rows] == self.trace.lane[self.frames.rows[0]]]
            rows = own if own.size else rows
        names = self.lines_at(self.trace.start_ns[rows])
        inside = (names >= 0) & ~self.is_in_callee(self.trace.start_ns[rows])
        counts = np.bincount(names[inside if inside.any() else names >= 0])
        if not counts.size:
            return "", 0.0
        return describe_frame(self.trace.names[int(counts.argmax())]), float(counts.max()) / rows.size

    def is_in_callee(self, moments_ns: I64) -> Mask:
        """Return for each moment whether the line seen last calls a module of the script's own, whose lines were not
        seen yet."""
        assert self.frames is not None
        trace = self.trace
        of_own = trace.mask_of_names(lambda name: OWN_MODULE.match(name) is not None)
        spans = set(zip(trace.start_ns[of_own].tolist(), trace.duration_ns[of_own].tolist()))
        rows = np.maximum(self.frames.innermost_at(moments_ns), 0)
        seen = zip(trace.start_ns[rows].tolist(), trace.duration_ns[rows].tolist())
        return np.array([span in spans for span in seen], np.bool_)

    def dearest_wait(self, rows: npt.NDArray[np.intp]) -> str:
        """Return the line at which the script's thread is, and most often waits, when these events of other threads
        begin; empty where none is known."""
        names = self.lines_at(self.trace.start_ns[rows])
        counts = np.bincount(names[names >= 0])
        return describe_frame(self.trace.names[int(counts.argmax())]) if counts.size else ""

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
    def script_rows(self) -> npt.NDArray[np.intp]:
        """Return the operators that the script itself calls in the steady steps and that launch something, those within
        others left out: one may be many kernels of the CPU's and one of an NPU's, as a whole GRU is."""
        if self.frames is None or not self.frames.rows.size:
            return np.empty(0, np.intp)
        trace = self.trace
        rows = np.flatnonzero(self.hands_out & self.steady & (trace.lane == trace.lane[self.frames.rows[0]]))
        nesting = Nesting(trace.start_ns[rows], trace.duration_ns[rows], rows)
        return nesting.rows[nesting.parent < 0].astype(np.intp)

    @property
    def operators(self) -> float:
        """Return how many operators the script itself calls in a step that launch something; where its lines are not
        known, very many."""
        return self.script_rows.size / self.steps if self.frames is not None else math.inf

    @cached_property
    def holds_loop(self) -> Mask:
        """Return a mask (n,) of the script's frames whose function holds the loop: its lines are told apart."""
        assert self.frames is not None
        trace, frames = self.trace, self.frames
        numbers: dict[str, int] = {}
        function_of_name = np.array([numbers.setdefault(function_of(name), len(numbers)) for name in trace.names])
        function = function_of_name[trace.name[frames.rows]]
        steady = self.steady[frames.rows]
        lasts = np.bincount(function[steady], (frames.end_ns - frames.start_ns)[steady], len(numbers))
        enough = HOLDS_LOOP * self.steps * self.profile.breakdown.step_ns
        for number in np.flatnonzero(
            lasts >= enough
        ).tolist():  # one that calls itself, or another of its name, is in both
            own = steady & (function == number)
            lasts[number] = Intervals.union_of(frames.start_ns[own], frames.end_ns[own]).length_ns
        held: Mask = (lasts >= enough)[function]
        return held

    def is_of_loop(self, where: str) -> bool:
        """Return whether a place is a line of a function that holds the loop."""
        if self.frames is None:
            return True
        here = np.array([describe_frame(name) == where for name in self.trace.names])[self.trace.name[self.frames.rows]]
        return bool(self.holds_loop[here].any())

    @property
    def handed_ns(self) -> float:
        """Return what a step would take of a device that computes in no time: what the host does besides operators,
        and what an NPU's host needs for so many operators, their gradients and updates among it."""
        begins, ends = (np.array([getattr(step, edge) for step in self._steady_steps], np.int64) for edge in EDGES)
        own = self.alone.before_ns(ends) - self.alone.before_ns(begins)
        return float(own.sum()) / self.steps + OPERATOR_NS * self.operators

    @property
    def _steady_steps(self) -> list[Step]:
        steady = {step.number for step in self.profile.breakdown.steady}
        return [step for step in self.trace.steps if step.number in steady]

    def tell_from_samples(self, cause: Cause) -> Cause:
        """Return a cause of preparing samples as one of the script's own code where the loop's line that comes to it
        fetches tensors from the device in each step: it computes on the host with what the device has made."""
        if not self.fetches(cause.where):
            return cause
        return replace(cause, kind="python", evidence=Sentence("PRF316.python", **cause.evidence.args))

    def fetches(self, where: str) -> bool:
        """Return whether the loop's line that comes to a place fetches tensors from the device in each step."""
        trace = self.trace
        if self.frames is None:
            return False
        fetched = trace.mask_of_names(COPYING_WAITS.__contains__) & trace.where(("python",)) & self.steady
        calls = self._find_loop_lines(self._find_frames_at(where))
        inside = Intervals.union_of(self.frames.start_ns[calls] - SEEN_LATE_NS, self.frames.end_ns[calls])
        moments = find_launching(trace, np.flatnonzero(fetched))
        return int(inside.cover_moments(moments).sum()) >= self.steps

    def _find_frames_at(self, where: str) -> npt.NDArray[np.intp]:
        """Return the frames of the function at a place; where that holds the loop, those at this line alone."""
        assert self.frames is not None
        trace, frames = self.trace, self.frames
        functions = {function_of(name) for name in trace.names if describe_frame(name) == where}
        by_function = trace.mask_of_names(lambda name: function_of(name) in functions)[frames.rows]
        by_line = trace.mask_of_names(lambda name: describe_frame(name) == where)[frames.rows]
        return np.flatnonzero(np.where(self.holds_loop, by_line, by_function))

    def _find_loop_lines(self, at: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Return the frames of the loop's lines from which these frames are called."""
        assert self.frames is not None
        parent = self.frames.parent
        while (climbs := ~self.holds_loop[at] & (parent[at] >= 0)).any():
            at = np.where(climbs, parent[at], at)
        return at

    def _spans_of(self, at: npt.NDArray[np.intp]) -> Intervals:
        if self.frames is None:
            return EMPTY
        return Intervals.union_of(self.frames.start_ns[at], self.frames.end_ns[at])

    def weigh_loading(self, cause: Cause) -> Cause:
        """Return the loader's cause with what the loop waits for it by the loader's own events: sampled frames are less
        exact."""
        if not (self.trace.where(("loading",)) & self.steady).any():
            return cause
        spent = self.loader_ns
        predicted = self.weigh_host(spent)
        share = (predicted.least_ns + predicted.most_ns) / 2 / self.calm_step_ns
        args = {**cause.evidence.args, "gain_ms": self.profile.to_ms(spent), "share": round(100 * share, 1)}
        weighed = replace(cause, spent_ns=spent, share=share, evidence=Sentence(cause.evidence.key, **args))
        return replace(weighed, predicted=predicted)

    @cached_property
    def loader_ns(self) -> float:
        """Return what the loop waits in a step for its loader; what a queue of worker processes itself takes is not
        counted: another loader takes it too."""
        trace = self.trace
        own = trace.where(("loading",))
        starts = trace.where(("python",)) & trace.mask_of_names(lambda name: LOADER_STARTS.search(name) is not None)
        rows = np.flatnonzero((own | starts) & self.steady)
        spans = Intervals.union_of(trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows])
        queues = int((own & self.steady & trace.mask_of_names(lambda name: QUEUED in name)).sum())
        return max(0.0, float(spans.length_ns - queues * QUEUE_NS)) / self.steps

    def place_cause(self, cause: Cause) -> Cause:
        """Return a cause that is told by its kernels with the line that launches most of them, where it has none; of
        small kernels the line of the script's own thread: the backward ones have none of their own."""
        trace = self.trace
        placed = cause.kind != "tiny_kernels" and PLACE.search(cause.where)
        if cause.kind not in ("layout", "casting", "tiny_kernels") or placed or self.frames is None:
            return cause
        rows = np.flatnonzero(trace.where(("compute",)) & self.steady & (trace.launched_by >= 0))
        if cause.kind == "tiny_kernels":
            by = self.script_rows if rows.size else np.empty(0, np.intp)
        else:
            by = trace.launched_by[rows[families_of(trace, rows) == cause.kind]].astype(np.intp)
        where = self.dearest_line(by) or cause.where
        args = {**cause.evidence.args, "where": where} if "where" in cause.evidence.args else cause.evidence.args
        return replace(cause, where=where, evidence=Sentence(cause.evidence.key, **args))

    def predict(self, cause: Cause) -> Cause:
        """Return a cause with what the step would be shorter by without it: what goes on at its place, with the
        gradients of what is called there; where its kernels are all over the step, what they take and their part of
        what the host needs to hand them out. What recording adds, which no step takes that is not recorded, is taken
        out: as much for each operator, or as much for each moment, whichever is less, and more."""
        if cause.predicted is not None and cause.evidence.key in WEIGHED:
            return cause
        usual = self.calm_step_ns / self.profile.breakdown.step_ns
        at = self._steady_at(cause.where) if cause.kind in AT_PLACE and cause.where else np.empty(0, np.intp)
        if at.size:
            spans = self._spans_of(at)
            saved = [self.replay_without(spans), usual * self.spent_with_gradients_in(spans)]
            if cause.kind in EXPLAINED_BY_NAME:
                own = self.weigh_host(cause.spent_ns)
                saved = [max(min(saved), own.least_ns), max(*saved, own.most_ns)]
        elif cause.predicted is not None:
            return cause
        else:
            spent = cause.spent_ns
            if cause.kind in ("layout", "casting") and cause.evidence.key.endswith("_work"):
                rows = np.flatnonzero(self.trace.where(("compute",)) & self.steady)
                part = float((families_of(self.trace, rows) == cause.kind).mean()) if rows.size else 0.0
                spent += part * self.profile.breakdown.per_step_ns("free")
            saved = [usual * spent]
        least, most = (min(end, self.calm_step_ns) for end in (min(saved), max(saved)))
        return replace(cause, predicted=Range(least, most))

    @property
    def calm_step_ns(self) -> float:
        """Return what a step takes that is not recorded, as far as that is known, and never more than one that is: as
        many of them tell it; where few do, no less than what recording can have added. Their median is held against the
        median: what comes every few steps is in the mean of those that are recorded."""
        breakdown = self.profile.breakdown
        usual = min(1.0, self.profile.calm_step_ns / max(1.0, breakdown.median_ns)) or 1.0
        if self.profile.calm_steps >= MANY_CALM:
            return usual * breakdown.step_ns
        most_added = min(MOST_EVENT_NS * self.events, MOST_ADDED * breakdown.step_ns)
        return max(usual * breakdown.step_ns, breakdown.step_ns - most_added)

    @cached_property
    def events(self) -> float:
        """Return how many operators are recorded in a step."""
        return int((self.trace.where(("host_op",)) & self.steady).sum()) / self.steps

    @cached_property
    def event_cost_ns(self) -> float:
        """Return what recording one operator adds to the step."""
        return (self.profile.breakdown.step_ns - self.calm_step_ns) / max(1.0, self.events)

    def spans_at(self, where: str) -> Intervals:
        """Return when the script is in the function at a place in steady steps, or at that line of the loop's."""
        return self._spans_of(self._steady_at(where))

    def spent_with_gradients(self, where: str) -> float:
        """Return the nanoseconds of the mean step at a place, and in the gradients of what is called there."""
        return self.spent_with_gradients_in(self.spans_at(where))

    def spent_with_gradients_in(self, spans: Intervals) -> float:
        """Return the nanoseconds of the mean step in these intervals, and in the gradients of what is called there."""
        return float(self.with_gradients(spans).length_ns) / self.steps

    def with_gradients(self, spans: Intervals) -> Intervals:
        """Return these intervals, and when the gradients are worked out of what is called in them."""
        return spans | self._backward_of(spans)

    def replay_without(self, spans: Intervals) -> float:
        """Return what a step would be shorter by without what the script's thread does in these intervals, and without
        the gradients of what it calls there: nothing else runs meanwhile, for it waits for backward."""
        return self.leave_out(spans | self._backward_of(spans))

    def leave_out(self, removed: Intervals) -> float:
        """Return what a step would be shorter by without these intervals, and without what recording adds in them."""
        trace = self.trace
        events = removed.cover_moments(trace.start_ns[trace.where(("host_op",)) & self.steady]).sum()
        return max(0.0, float(removed.length_ns - self.event_cost_ns * int(events)) / self.steps)

    def weigh(self, removed: Intervals) -> Range:
        """Return what a step that is not recorded would be shorter by without these intervals: their part of one that
        is recorded, and what is left of them without what recording adds, whichever is less, to the other."""
        part = float(removed.length_ns) / self.steps / self.profile.breakdown.step_ns
        ends = sorted((part * self.calm_step_ns, min(self.leave_out(removed), self.calm_step_ns)))
        return Range(*ends)

    def weigh_host(self, spent_ns: float, most_ns: float = 0.0) -> Range:
        """Return what a step that is not recorded would be shorter by without what the host does for so long in one
        that is: its part of it, for recording slows all that goes on beside it, to all of it, or more."""
        least_ns = spent_ns * self.calm_step_ns / self.profile.breakdown.step_ns
        ends = (min(end, self.calm_step_ns) for end in (least_ns, max(spent_ns, most_ns)))
        return Range(*ends)

    def _backward_of(self, spans: Intervals) -> Intervals:
        """Return when the gradients are worked out of what is called in these intervals."""
        trace, links = self.trace, self.profile.gradients
        if not links.size:
            return self._usual_backward_of(spans)
        begun = spans.cover_moments(trace.start_ns[links[:, 0]])
        return self.spans_of_nodes(links[begun & self.steady[links[:, 1]], 1])

    def spans_of_nodes(self, nodes: npt.NDArray[np.int64]) -> Intervals:
        """Return when these operators of backward run, with what the engine does around each."""
        trace = self.trace
        around = np.flatnonzero(trace.mask_of_names(lambda name: name.startswith(NODE)) & self.steady)
        threads = nest_by_lane(trace.lane[around], trace.start_ns[around], trace.duration_ns[around], around)
        rows = find_innermost(threads, trace.lane[nodes], trace.start_ns[nodes])
        rows = np.union1d(nodes, rows[rows >= 0]).astype(np.intp)
        return Intervals.union_of(trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows])

    def _usual_backward_of(self, spans: Intervals) -> Intervals:
        """Return, where nothing links backward to forward, the part of it that these operators are of all that the
        script calls outside of updates."""
        trace, rows = self.trace, self.script_rows
        if self.frames is None or not rows.size:
            return EMPTY
        updates = trace.mask_of_names(lambda name: name.startswith("Optimizer.step#"))
        rows = rows[~updates[rows] & ~trace.intervals_of(updates).cover_moments(trace.start_ns[rows])]
        around = trace.intervals_of(trace.mask_of_names(lambda name: BACKWARD in name) & self.steady)
        rows = rows[~around.cover_moments(trace.start_ns[rows])]
        part = float(spans.cover_moments(trace.start_ns[rows]).mean()) if rows.size else 0.0
        lasts = np.round((around.end_ns - around.start_ns) * part).astype(np.int64)
        return Intervals.union_of(around.start_ns, around.start_ns + lasts)

    def _steady_at(self, where: str) -> npt.NDArray[np.intp]:
        if self.frames is None:
            return np.empty(0, np.intp)
        at = self._find_frames_at(where)
        return at[self.steady[self.frames.rows[at]]]


def find_launching(trace: Trace, rows: npt.NDArray[np.intp]) -> I64:
    """Return when those of these calls begin within which a copy is launched."""
    copies = np.unique(trace.launched_by[trace.where(("copy",))])
    copy_ns = np.sort(trace.start_ns[copies[copies >= 0]])
    begin, end = trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows]
    moments: I64 = begin[np.searchsorted(copy_ns, end) > np.searchsorted(copy_ns, begin)]
    return moments


def count_outermost(trace: Trace, rows: npt.NDArray[np.intp]) -> int:
    """Count those of one thread's events that lie in none of the others."""
    return int((Nesting(trace.start_ns[rows], trace.duration_ns[rows], rows).parent < 0).sum())


def _is_explained(name: str) -> bool:
    """Return whether a frame has a cause of its own, or waits for backward."""
    return BACKWARD in name or any(COMPILED[mark].search(name) for mark in EXPLAINED)


def make_cause(
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
