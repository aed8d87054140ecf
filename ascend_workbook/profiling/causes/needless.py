"""Work that is asked for more often, or on more, than it is needed: orders in memory that are turned and turned back,
weights that are cast again and again, gradients that are reduced for each part of one update, large tensors that are
made anew for a few values in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ascend_workbook.profiling.causes.casts import is_cast, spend_in_casts
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.lines import Lines, make_cause
from ascend_workbook.profiling.causes.work import elements_of

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


def count_needless(lines: Lines) -> Iterator[Cause]:
    """Count what the script's thread asks for again and again, though once would do."""
    if lines.frames is None or not lines.frames.rows.size:
        return
    yield from _count_orders(lines)
    yield from _count_weight_casts(lines)
    yield from _count_reductions(lines)
    yield from _count_spreads(lines)


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
