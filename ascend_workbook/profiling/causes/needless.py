"""Work that is asked for more often, or on more, than it is needed: orders in memory that are turned and turned back,
weights that are cast again and again, gradients that are reduced for each part of one update, large tensors that are
made anew for a few values in them or made on the host in each layer, a forward pass that is computed twice, float64."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.causes.casts import is_cast, spend_in_casts
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.lines import COPYING_WAITS, OWN_MODULE, Lines, make_cause
from ascend_workbook.profiling.causes.marks import describe_frame
from ascend_workbook.profiling.causes.work import elements_of
from ascend_workbook.profiling.intervals import Intervals

#: Operators of the script that write a tensor anew in another order, and what runs backward for them
ORDERING = ("aten::contiguous", "aten::reshape")
ORDER_GRADIENT = re.compile(r"^autograd::engine::evaluate_function: (Clone|Transpose|Permute)Backward0$")
#: From so many a step on, this part of the operators that the script calls, and this part of the step: a block of a
#: transformer turns one tensor among a dozen operators
MANY_ORDERED, PART_ORDERED, WORTH_ORDERED = 6, 0.2, 0.05
#: A weight is cast anew where tensors of its shape are cast so many times as often as their gradients come
CAST_AGAIN, MANY_CASTS = 4, 16
ACCUMULATES = "torch::autograd::AccumulateGrad"
#: A gradient is reduced in backward by this; the update that it is for
REDUCES, UPDATE = "c10d::allreduce_", "Optimizer.step#"
#: So many times an update its gradients are reduced: a second loss may have parameters of its own
ROUNDS, WORTH_REDUCED = 2, 0.05
#: Writes a few values into a tensor of zeros; where so many times as many elements are as values, so often a step, and
#: this part of all that the forward pass works on
SPREADS = re.compile(r"^aten::scatter(_add)?_?$")
TIMES_VALUES, MANY_SPREAD, PART_SPREAD = 64, 8, 0.15
#: Copies of one shape to the device that modules of the script make, so often a step: what never changes is a buffer
MANY_BUILT = 4
READS = ("aten::_local_scalar_dense",)
#: Operators that backward calls only where it computes the forward pass again; so many a step, and part of all
OF_FORWARD = re.compile(
    r"^aten::(linear|layer_norm|group_norm|batch_norm|conv[123]d|scaled_dot_product_attention|gelu)$"
)
MANY_AGAIN, PART_AGAIN = 4, 0.25
RECOMPUTES = re.compile(r"torch/utils/checkpoint\.py\(")
#: An NPU has few kernels for these: so many a step, and this part of the operators that the script calls
DOUBLE, MANY_DOUBLES, PART_DOUBLES = "float64", 4, 0.05
#: Worked out step by step, on an NPU by its slow general cores or the host; from this part of the step on
DECOMPOSES = re.compile(
    r"^aten::(linalg_(svd|svdvals|eigh?|eigvalsh?|qr|cholesky|lu|inv|pinv|solve|lstsq|matrix_exp|matrix_rank)"
    r"|svd|qr|inverse|pinverse|cholesky|lstsq)$"
)
WORTH_DECOMPOSED = 0.08


def count_needless(lines: Lines) -> Iterator[Cause]:
    """Count what the script's thread asks for again and again, though once would do."""
    if lines.frames is None or not lines.frames.rows.size:
        return
    yield from _count_orders(lines)
    yield from _count_weight_casts(lines)
    yield from _count_reductions(lines)
    yield from _count_spreads(lines)
    yield from _count_built(lines)
    yield from _count_recomputed(lines)
    yield from _count_doubles(lines)
    yield from _count_decompositions(lines)


def _count_orders(lines: Lines) -> Iterator[Cause]:
    trace = lines.trace
    rows = lines.script_rows
    rows = rows[trace.mask_of_names(ORDERING.__contains__)[rows]]
    calls = rows.size / lines.steps
    if calls < MANY_ORDERED or calls < PART_ORDERED * lines.operators:
        return
    forward = int(trace.duration_ns[rows].sum())
    gradients = trace.mask_of_names(lambda name: ORDER_GRADIENT.match(name) is not None) & lines.steady
    spent = float(forward + min(int(trace.duration_ns[gradients].sum()), 2 * forward)) / lines.steps
    if spent >= WORTH_ORDERED * lines.profile.breakdown.step_ns:
        where, part = lines.dearest_place(rows)
        yield make_cause(lines, "layout", "orders", spent, where, part, calls=round(calls))


def _count_weight_casts(lines: Lines) -> Iterator[Cause]:
    """Count casts of tensors of a parameter's shape: autocast keeps what it cast, as long as its context lasts."""
    trace, frames = lines.trace, lines.frames
    assert frames is not None
    own = lines.steady & (trace.lane == trace.lane[frames.rows[0]])
    of_cast = np.array([is_cast(tuple(text.split(" "))) for text in trace.dtypes] or [False])
    rows = np.flatnonzero(own & trace.mask_of_names("aten::copy_".__eq__) & of_cast[trace.dtype])
    shape = np.array([text.partition(" ")[0] for text in trace.shapes] or [""])
    gradients = np.flatnonzero(lines.steady & trace.mask_of_names(ACCUMULATES.__eq__))
    count = {name: int(number) for name, number in zip(*np.unique(shape[trace.shape[gradients]], return_counts=True))}
    names, at = np.unique(shape[trace.shape[rows]], return_inverse=True)
    often = np.bincount(at, minlength=names.size)
    again = np.array([CAST_AGAIN * count.get(name, len(rows)) <= n for name, n in zip(names.tolist(), often.tolist())])
    weights = rows[again[at]] if rows.size else rows
    calls = weights.size / lines.steps
    if calls < MANY_CASTS:
        return
    needed = sum(count[name] for name, is_again in zip(names.tolist(), again.tolist()) if is_again) / lines.steps
    where, part = lines.dearest_place(weights)
    spent = spend_in_casts(lines, own, weights, weights.size / max(1, rows.size)) * (1 - needed / calls)
    yield make_cause(lines, "casting", "recast", spent, where, part, calls=round(calls), needed=round(needed))


def _count_reductions(lines: Lines) -> Iterator[Cause]:
    """Count how often gradients are reduced over the ranks for one update: backward passes with collectives in them,
    between which the script hands out work."""
    trace, frames = lines.trace, lines.frames
    assert frames is not None
    own = trace.lane == trace.lane[frames.rows[0]]
    reduces = np.flatnonzero(lines.steady & trace.mask_of_names(REDUCES.__eq__) & ~own)
    updates = trace.mask_of_names(lambda name: name.startswith(UPDATE)) & lines.steady
    handed = lines.script_rows
    handed = np.sort(trace.start_ns[handed[~trace.intervals_of(updates).cover_moments(trace.start_ns[handed])]])
    rounds = np.unique(np.searchsorted(handed, trace.start_ns[reduces])).size / lines.steps
    needed = max(1.0, int(updates.sum()) / lines.steps)
    spent = lines.profile.breakdown.per_step_ns("communication") * max(0.0, 1 - needed / max(rounds, 1.0))
    if rounds < ROUNDS * needed or spent < WORTH_REDUCED * lines.profile.breakdown.step_ns:
        return
    where = lines.dearest_wait(reduces)
    yield make_cause(lines, "communication", "reduced", spent, where, calls=round(rounds), needed=round(needed))


def _count_spreads(lines: Lines) -> Iterator[Cause]:
    """Count tensors that the script makes anew to write a few values into."""
    trace = lines.trace
    rows = lines.script_rows
    rows = rows[trace.mask_of_names(lambda name: SPREADS.match(name) is not None)[rows]]
    target, values = (np.array([_elements_of(text, at) for text in trace.shapes]) for at in (0, 1))
    is_sparse = target >= TIMES_VALUES * np.maximum(values, 1)
    rows = rows[is_sparse[trace.shape[rows]] & (values > 0)[trace.shape[rows]]]
    calls = rows.size / lines.steps
    if calls < MANY_SPREAD:
        return
    elements = np.array([elements_of(text) for text in trace.shapes])
    part = float(elements[trace.shape[rows]].sum() / max(1, elements[trace.shape[lines.script_rows]].sum()))
    where = lines.dearest_line(rows)
    if part >= PART_SPREAD:
        spent = lines.spent_at(where)
        yield make_cause(lines, "computing", "rebuilt", spent, where, calls=round(calls), of_all=round(100 * part))


def _elements_of(shapes: str, at: int) -> int:
    """Return the elements of one of the tensors in a column's text, 0 where there is none."""
    tensors = shapes.split(" ")
    return elements_of(tensors[at]) if at < len(tensors) else 0


def _count_built(lines: Lines) -> Iterator[Cause]:
    """Count tensors of one shape that modules make on the host and copy to the device."""
    trace, frames = lines.trace, lines.frames
    assert frames is not None
    copies = trace.launched_by[trace.where(("copy",)) & lines.steady & (trace.launched_by >= 0)]
    rows = np.unique(copies).astype(np.intp)
    rows = rows[(trace.lane[rows] == trace.lane[frames.rows[0]]) & ~trace.mask_of_names(READS.__contains__)[rows]]
    modules = trace.intervals_of(trace.mask_of_names(lambda name: OWN_MODULE.match(name) is not None) & lines.steady)
    fetches = trace.intervals_of(trace.mask_of_names(COPYING_WAITS.__contains__) & trace.where(("python",)))
    at = trace.start_ns[rows]
    rows = rows[modules.cover_moments(at) & ~fetches.cover_moments(at)]
    if not rows.size:
        return
    shape = int(np.bincount(trace.shape[rows]).argmax())
    rows = rows[trace.shape[rows] == shape]
    calls = rows.size / lines.steps
    if calls < MANY_BUILT or not trace.shapes[shape]:
        return
    where, part = lines.dearest_place(rows)
    there = lines.spans_at(where)
    on_host = trace.intervals_of(trace.where(("host_op",)) & ~lines.hands_out & lines.steady)
    spent = float(trace.duration_ns[rows].sum() + on_host.common_ns(there)) / lines.steps
    cause = make_cause(lines, "blocked_copy", "built", spent, where, part, calls=round(calls))
    yield replace(cause, confidence="likely")


def _count_recomputed(lines: Lines) -> Iterator[Cause]:
    """Count operators of forward that backward calls."""
    trace, frames = lines.trace, lines.frames
    assert frames is not None
    own = trace.lane == trace.lane[frames.rows[0]]
    forward = trace.mask_of_names(lambda name: OF_FORWARD.match(name) is not None) & trace.where(("host_op",))
    again, first = (np.flatnonzero(forward & lines.steady & lane) for lane in (~own, own))
    calls = again.size / lines.steps
    if calls < MANY_AGAIN or again.size < PART_AGAIN * first.size:
        return
    rows = lines.script_rows
    usual = float(trace.duration_ns[first].sum()) / max(1, int(trace.duration_ns[rows].sum()))
    spent = float(trace.duration_ns[again].sum()) / max(usual, PART_AGAIN) / lines.steps
    cause = make_cause(lines, "computing", "recomputed", spent, _find_recomputing(lines), calls=round(calls))
    yield replace(cause, confidence="likely", predicted=lines.weigh_host(spent))


def _find_recomputing(lines: Lines) -> str:
    """Return the line of the script that asks for a part to be computed again; empty where none was seen."""
    trace, frames = lines.trace, lines.frames
    assert frames is not None
    asks = trace.mask_of_names(lambda name: RECOMPUTES.search(name) is not None) & trace.where(("python",))
    near = np.union1d(frames.rows, np.flatnonzero(asks & lines.steady))
    nesting = Nesting(trace.start_ns[near], trace.duration_ns[near], near)
    above = nesting.parent[asks[nesting.rows]]
    callers = nesting.rows[above[above >= 0]]
    names = trace.name[callers[~asks[callers]]]
    return describe_frame(trace.names[int(np.bincount(names).argmax())]) if names.size else ""


def _count_doubles(lines: Lines) -> Iterator[Cause]:
    """Count operators that compute in float64."""
    trace = lines.trace
    rows = lines.script_rows
    texts = zip(trace.shape[rows].tolist(), trace.dtype[rows].tolist())
    rows = rows[np.array([_is_double(trace.shapes[shape], trace.dtypes[types]) for shape, types in texts], np.bool_)]
    calls = rows.size / lines.steps
    if calls >= MANY_DOUBLES and calls >= PART_DOUBLES * lines.operators:
        where, part = lines.dearest_place(rows)
        spent = float(trace.duration_ns[rows].sum()) / lines.steps
        cause = make_cause(lines, "casting", "doubles", spent, where, part, calls=round(calls))
        yield replace(cause, confidence="likely")


def _is_double(shapes: str, types: str) -> bool:
    """Return whether a tensor is in float64: a number of Python's has that type too, and no shape."""
    return DOUBLE in types.split(" ")[: len(shapes.split())]


def _count_decompositions(lines: Lines) -> Iterator[Cause]:
    """Count matrices that are decomposed, with their gradients."""
    trace = lines.trace
    rows = lines.script_rows
    rows = rows[trace.mask_of_names(lambda name: DECOMPOSES.match(name) is not None)[rows]]
    begin = trace.start_ns[rows]
    spent = lines.spent_with_gradients_in(Intervals.union_of(begin, begin + trace.duration_ns[rows]))
    if rows.size and spent >= WORTH_DECOMPOSED * lines.profile.breakdown.step_ns:
        where, part = lines.dearest_place(rows)
        calls = max(1, round(rows.size / lines.steps))
        yield replace(
            make_cause(lines, "computing", "decomposed", spent, where, part, calls=calls), confidence="likely"
        )
