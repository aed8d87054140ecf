"""Loops of the script that call one operator after the other: each is handed out, or looked at, by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.lines import Lines, make_cause
from ascend_workbook.profiling.causes.marks import describe_frame, function_of
from ascend_workbook.profiling.causes.work import elements_of

#: A function loops where it calls one operator, on small tensors of the same shapes, so many times a step
ALIKE = 32
#: Elements of a tensor from which it is not small: an operator may take as long as it takes to hand it out
SMALL = 2**16
#: Frames between a line and an operator: of these the line is not the one that calls it
BETWEEN = re.compile(r"(^|/)torch/nn/modules/|-packages/(?!torch/|torch_npu/)")
UPDATE = "Optimizer."
#: How the shape of a batch of one begins
ONE_SAMPLE = "[1,"
#: One in so many of the operators hands out a kernel, for others are views: it is kernels that are tiny, else Python
HANDED_OUT = 6


def count_loops(lines: Lines) -> Iterator[Cause]:
    """Count the operators that each function calls itself, not through a module or another library, and name the one
    that calls the same again and again: layers are modules, a loop over samples, steps or parameters is none."""
    trace = lines.trace
    rows = _find_direct(lines)
    names = lines.lines_at(trace.start_ns[rows])
    rows, names = rows[names >= 0], names[names >= 0]
    if not rows.size:
        return
    numbers: dict[str, int] = {}
    function = np.array([numbers.setdefault(function_of(name), len(numbers)) for name in trace.names])[names]
    is_small = np.array([0 < elements_of(shape) < SMALL for shape in trace.shapes])[trace.shape[rows]]
    alike = np.stack([function, trace.name[rows], trace.shape[rows]])[:, is_small]
    groups, counts = np.unique(alike, axis=1, return_counts=True)
    if counts.max(initial=0) < ALIKE * lines.steps:
        return
    best = _go_down(lines, groups, counts, [*numbers])
    chosen = function == best
    by_line = np.bincount(names[chosen])
    where = describe_frame(trace.names[int(by_line.argmax())])
    calls = int(chosen.sum())
    spent = lines.spent_at(where) + lines.backward_of(where)
    kind = "tiny_kernels" if HANDED_OUT * int(lines.hands_out[rows[chosen]].sum()) >= calls else "python"
    cause = make_cause(lines, kind, "loops", spent, where, by_line.max() / calls, calls=round(calls / lines.steps))
    yield replace(cause, confidence="likely")


def _go_down(lines: Lines, groups: npt.NDArray[np.integer], counts: npt.NDArray[np.integer], names: list[str]) -> int:
    """Return the function that calls the same operator most often, or one called by it that does half as often all that
    it does often: what a function does first is seen as its caller's, for lines are looked at once a millisecond."""
    frames, trace = lines.frames, lines.trace
    assert frames is not None
    best = int(groups[0, int(counts.argmax())])
    function = np.array([names.index(name) if name in names else -1 for name in map(function_of, trace.names)])
    of_frame = function[trace.name[frames.rows]]
    caller = np.where(frames.parent >= 0, of_frame[frames.parent], -1)
    often = {tuple(group[1:]): count for group, count in zip(groups.T.tolist(), counts.tolist()) if group[0] == best}
    often = {group: count for group, count in often.items() if count >= ALIKE * lines.steps}
    for called in np.unique(of_frame[(caller == best) & (of_frame >= 0) & (of_frame != best)]).tolist():
        own = {
            tuple(group[1:]): count for group, count in zip(groups.T.tolist(), counts.tolist()) if group[0] == called
        }
        if all(2 * own.get(group, 0) >= count for group, count in often.items()):
            return int(called)
    return best


def _find_direct(lines: Lines) -> npt.NDArray[np.intp]:
    """Return the operators of the steady steps that lines of the script call themselves, those within others and within
    updates left out; on a batch of one sample also those of its modules."""
    trace, frames = lines.trace, lines.frames
    none = np.empty(0, np.intp)
    if frames is None or not frames.rows.size:
        return none
    here = trace.lane == trace.lane[frames.rows[0]]
    operators = np.flatnonzero(trace.where(("host_op",)) & here & lines.steady)
    nesting = Nesting(trace.start_ns[operators], trace.duration_ns[operators], operators)
    rows = nesting.rows[nesting.parent < 0].astype(np.intp)
    updates = trace.mask_of_names(lambda name: name.startswith(UPDATE)) | trace.where(("loading",))
    rows = rows[~trace.intervals_of(updates).cover_moments(trace.start_ns[rows])]
    own = np.zeros(len(trace), np.bool_)
    own[frames.rows] = True
    between = trace.mask_of_names(lambda name: BETWEEN.search(name) is not None) & trace.where(("python",)) & here
    near = np.flatnonzero(own | between)
    inner = Nesting(trace.start_ns[near], trace.duration_ns[near], near).innermost_at(trace.start_ns[rows])
    of_one = np.array([shape.startswith(ONE_SAMPLE) for shape in trace.shapes])[trace.shape[rows]]
    direct: npt.NDArray[np.intp] = rows[(inner >= 0) & (own[np.maximum(inner, 0)] | of_one)]
    return direct
