"""Loops of the script that call one operator after the other: each is handed out, or looked at, by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.lines import Lines, make_cause
from ascend_workbook.profiling.causes.marks import describe_frame, function_of
from ascend_workbook.profiling.causes.work import elements_of
from ascend_workbook.profiling.intervals import Intervals
from ascend_workbook.profiling.trace import Trace

#: A function loops where it calls one operator, on small tensors of the same shapes, so many times a step
ALIKE = 24
#: Elements of a tensor from which it is not small: an operator may take as long as it takes to hand it out
SMALL = 2**16
#: Frames between a line and an operator: of these the line is not the one that calls it
BETWEEN = re.compile(r"(^|/)torch/nn/modules/|-packages/(?!torch/|torch_npu/)")
#: Reads a number that lies on a device
READ = "aten::_local_scalar_dense"
#: Of the step, from here on a word of a loop over single numbers: norms and scales are a few of these
WORTH_SCALARS = 0.12
UPDATE = "Optimizer."
#: How calls of modules are named, one name a module; the same one so often a step is called in a loop
MODULE, SAME_MODULE = "module#", 16
#: A module that calls so many times what is alike each time that it is called loops itself
LOOPS_TOO = 4
#: One call of a module that holds so many operators that are alike holds a loop; one that holds fewer is a layer
IN_ONE_CALL = 8
#: Of the calls at a line so many a run are on the same tensor, and so many a step; of the step, from here on a word
SAME_INPUT, RUN, ALIKE_MODULES, WORTH_ALIKE = "module on the same input", 4, 8, 0.15
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
    # a tensor without dimensions has no text; where no shape is recorded at all, nothing tells how large any is
    small_shapes = [elements_of(shape) < SMALL and any(trace.shapes) for shape in trace.shapes]
    is_small = np.array(small_shapes)[trace.shape[rows]]
    alike = np.stack([function, trace.name[rows], trace.shape[rows]])[:, is_small & ~_are_of_layers(lines, rows)]
    groups, counts = np.unique(alike, axis=1, return_counts=True)
    if counts.max(initial=0) < ALIKE * lines.steps:
        return
    best = _go_down(lines, groups, counts, [*numbers])
    chosen = function == best
    by_line = np.bincount(names[chosen])
    where, part = describe_frame(trace.names[int(by_line.argmax())]), by_line.max() / chosen.sum()
    calls = int(chosen.sum())
    spans = lines.with_gradients(_leave_layers_out(lines, lines.spans_at(where), rows[chosen]))
    spent = float(spans.length_ns) / lines.steps
    scalars = not trace.shapes[int(groups[2, int(counts.argmax())])]
    reads = trace.start_ns[trace.mask_of_names(READ.__eq__) & lines.steady]
    is_of_reads = 2 * int(spans.cover_moments(reads).sum()) >= int(counts.max())  # each is told as a wait
    if scalars and (is_of_reads or spent < WORTH_SCALARS * lines.profile.breakdown.step_ns):
        return
    kind = "tiny_kernels" if HANDED_OUT * int(lines.hands_out[rows[chosen]].sum()) >= calls else "python"
    cause = make_cause(lines, kind, "loops", spent, where, part, calls=round(calls / lines.steps))
    yield replace(cause, confidence="likely", predicted=lines.weigh(spans))


def _leave_layers_out(lines: Lines, spans: Intervals, rows: npt.NDArray[np.intp]) -> Intervals:
    """Return these intervals without the calls of modules in which none of these operators lies, and that are in no
    loop: a function may loop over what a model returns, and call it for that."""
    trace, calls = lines.trace, _find_module_calls(lines)
    moments = np.sort(trace.start_ns[rows])
    begin, end = trace.start_ns[calls], trace.start_ns[calls] + trace.duration_ns[calls]
    without = np.searchsorted(moments, end) == np.searchsorted(moments, begin)
    once = np.bincount(trace.name[calls], minlength=1) < SAME_MODULE * lines.steps
    return spans - trace.intervals_of(_mask_of(trace, calls[without & once[trace.name[calls]]]))


def count_alike_modules(lines: Lines) -> Iterator[Cause]:
    """Count modules of one class that a line calls one after the other on the same tensor, as heads: one product could
    compute all of them."""
    trace, frames = lines.trace, lines.frames
    if frames is None or not frames.rows.size:
        return
    rows = np.flatnonzero(trace.mask_of_names(SAME_INPUT.__eq__) & lines.steady)
    calls = _find_module_calls(lines)
    names, all_names = lines.lines_at(trace.start_ns[rows]), lines.lines_at(trace.start_ns[calls])
    best: Cause | None = None
    for name in np.unique(names[names >= 0]).tolist():
        own, together = rows[names == name], calls[all_names == name]
        if RUN * (together.size - own.size) > together.size or together.size < ALIKE_MODULES * lines.steps:
            continue
        spans = Intervals.union_of(trace.start_ns[together], (trace.start_ns + trace.duration_ns)[together])
        if not _are_small(lines, spans):
            continue
        spent = lines.spent_with_gradients_in(spans) * own.size / together.size
        if best is None or spent > best.spent_ns:
            where = describe_frame(trace.names[name])
            best = make_cause(lines, "tiny_kernels", "alike", spent, where, calls=round(together.size / lines.steps))
            most_ns = lines.weigh(lines.with_gradients(spans)).most_ns * own.size / together.size
            best = replace(best, confidence="likely", predicted=Range(0.0, most_ns))
    if best is not None and best.share >= WORTH_ALIKE:
        yield best


def _are_small(lines: Lines, spans: Intervals) -> bool:
    """Return whether the script's operators in these intervals work on small tensors: large ones gain nothing."""
    trace, rows = lines.trace, lines.script_rows
    rows = rows[spans.cover_moments(trace.start_ns[rows])]
    elements = np.array([elements_of(trace.shapes[at]) for at in trace.shape[rows].tolist()])
    return bool(0 < elements.max(initial=0) < SMALL)


def move_to_loop(lines: Lines, cause: Cause) -> Cause:
    """Return a cause that is told by what a layer calls with the line that calls the layer's model again and again,
    where one does."""
    if cause.kind not in ("tiny_kernels", "computing") or not cause.where:
        return cause
    trace, rows = lines.trace, lines.script_rows
    loop = _find_module_loop(lines, rows[lines.spans_at(cause.where).cover_moments(trace.start_ns[rows])])
    if loop in ("", cause.where):
        return cause
    spent = lines.spent_with_gradients(loop)
    share = min(1.0, spent / lines.profile.breakdown.step_ns)
    args = {**cause.evidence.args, "gain_ms": lines.profile.to_ms(spent), "share": round(100 * share, 1)}
    args |= {"place": Sentence("profiling.cause_at", where=loop, part=100)} if "place" in args else {"where": loop}
    evidence = Sentence(cause.evidence.key, **args)
    return replace(cause, spent_ns=spent, share=share, where=loop, evidence=evidence, predicted=None)


def _find_module_loop(lines: Lines, rows: npt.NDArray[np.intp]) -> str:
    """Return the line that calls one and the same module again and again, where these operators are such a module's and
    not of a loop within it; empty where there is none. Of modules within each other it is the outer one."""
    trace, calls = lines.trace, _find_module_calls(lines)
    names, module, count = np.unique(trace.name[calls], return_inverse=True, return_counts=True)
    repeated = calls[(count >= SAME_MODULE * lines.steps)[module]]
    if not repeated.size:
        return ""
    nesting = Nesting(trace.start_ns[repeated], trace.duration_ns[repeated], repeated)
    outer = nesting.rows[nesting.parent < 0].astype(np.intp)
    spans = trace.intervals_of(_mask_of(trace, outer))
    inside = int(spans.cover_moments(trace.start_ns[rows]).sum())
    if 2 * inside < rows.size or inside >= ALIKE * outer.size * LOOPS_TOO:
        return ""
    dearest = int(np.bincount(trace.name[outer], trace.duration_ns[outer]).argmax())
    return lines.dearest_wait(calls[trace.name[calls] == dearest])


def _find_module_calls(lines: Lines) -> npt.NDArray[np.intp]:
    return np.flatnonzero(lines.trace.mask_of_names(lambda name: name.startswith(MODULE)) & lines.steady)


def _mask_of(trace: Trace, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    mask = np.zeros(len(trace), np.bool_)
    mask[rows] = True
    return mask


def _are_of_layers(lines: Lines, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return which of these operators are of layers: the call of a module that holds one holds few that are alike, and
    is in no loop."""
    trace, calls = lines.trace, _find_module_calls(lines)
    if not calls.size:
        return np.zeros(rows.size, np.bool_)
    nesting = Nesting(trace.start_ns[calls], trace.duration_ns[calls], calls)
    around = nesting.innermost_at(trace.start_ns[rows])
    _, group, count = np.unique(
        np.stack([around, trace.name[rows], trace.shape[rows]]), axis=1, return_inverse=True, return_counts=True
    )
    often = np.bincount(trace.name[calls]) >= SAME_MODULE * lines.steps
    repeated = _mask_of(trace, calls[often[trace.name[calls]]])
    in_loop = trace.intervals_of(repeated).cover_moments(trace.start_ns[rows])
    few: npt.NDArray[np.bool_] = (around >= 0) & (count[group.ravel()] < IN_ONE_CALL) & ~in_loop
    return few


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
