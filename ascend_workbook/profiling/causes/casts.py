"""Casts that are undone: a tensor is changed to another type and at once back, as the script's thread calls them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.lines import Lines, Mask, make_cause

COPY, CASTS = "aten::copy_", ("aten::to", "aten::_to_copy", "aten::type_as")
GRADIENT = "autograd::engine::evaluate_function: ToCopyBackward0"
#: From so many a step on, and from this part of the operators that the script calls
MANY, WORTH = 8, 0.05


def count_undone_casts(lines: Lines) -> Iterator[Cause]:
    """Count tensors that are cast and, as the next thing on the script's thread, cast back: what is computed stays in
    the type that it was in, less exact, and each costs two kernels, and two more for the gradient."""
    trace, frames = lines.trace, lines.frames
    if frames is None or not frames.rows.size:
        return
    own = lines.steady & (trace.lane == trace.lane[frames.rows[0]])
    kernels = trace.launched_by[trace.where(("compute",)) & (trace.launched_by >= 0)]
    rows = np.unique(kernels).astype(np.intp)
    rows = rows[own[rows]]
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    types = [tuple(text.split(" ")) for text in trace.dtypes]
    numbers: dict[tuple[str, ...], int] = {}
    forth = np.array([numbers.setdefault(pair, len(numbers)) for pair in types] or [0])
    back = np.array([numbers.get(pair[::-1], -1) for pair in types] or [-1])
    of_cast = np.array([is_cast(pair) for pair in types] or [False])
    is_copy = trace.mask_of_names(COPY.__eq__)[rows] & of_cast[trace.dtype[rows]]
    same = (trace.shape[rows][1:] == trace.shape[rows][:-1]) & (trace.step[rows][1:] == trace.step[rows][:-1])
    undone = is_copy[1:] & is_copy[:-1] & same & (forth[trace.dtype[rows]][1:] == back[trace.dtype[rows]][:-1])
    undone = _leave_out_next(undone)
    number = int(undone.sum()) / lines.steps
    if number < MANY or 2 * number < WORTH * lines.operators:
        return
    pairs = np.flatnonzero(undone)
    copies = rows[np.union1d(pairs, pairs + 1)]
    where, part = lines.dearest_place(rows[pairs])
    spent = spend_in_casts(lines, own, copies)
    yield make_cause(lines, "casting", "undone", spent, where, part, calls=round(number))


def _leave_out_next(undone: Mask) -> Mask:
    """Return every other one of those in a row: what undoes a cast is itself undone by the next."""
    at = np.arange(undone.size)
    begins = undone & ~np.append(False, undone[:-1])
    first = np.maximum.accumulate(np.where(begins, at, 0)) if undone.size else at
    chosen: Mask = undone & ((at - first) % 2 == 0)
    return chosen


def is_cast(types: tuple[str, ...]) -> bool:
    """Return whether a copy between tensors of these types changes a float's type."""
    return len(types) == 2 and types[0] != types[1] and all("float" in name for name in types)


def spend_in_casts(lines: Lines, own: Mask, copies: npt.NDArray[np.intp], part: float = 1.0) -> float:
    """Return the nanoseconds of a mean step that these copies take with the calls around them, and this part of the
    gradients of casts."""
    trace = lines.trace
    calls = np.flatnonzero(own & trace.mask_of_names(CASTS.__contains__))
    begin, end = trace.start_ns[calls], trace.start_ns[calls] + trace.duration_ns[calls]
    moments = np.sort(trace.start_ns[copies])
    holding = calls[np.searchsorted(moments, end) > np.searchsorted(moments, begin)]
    spans = trace.intervals_of(np.isin(np.arange(len(trace)), np.union1d(holding, copies)))
    gradients = trace.mask_of_names(GRADIENT.__eq__) & lines.steady
    return float(spans.length_ns + part * trace.duration_ns[gradients].sum()) / lines.steps
