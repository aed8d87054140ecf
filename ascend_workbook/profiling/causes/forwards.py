"""Forward passes of which no gradient is taken: a second one on what a module was called on already, as for accuracy,
and evaluations, teachers and samples in each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.lines import Lines, Mask, make_cause
from ascend_workbook.profiling.causes.loops import MODULE
from ascend_workbook.profiling.causes.marks import describe_frame
from ascend_workbook.profiling.intervals import Intervals

#: Beside the call of a module: it was called before on the same tensor
AGAIN = "module again on the same input"
#: Of the step, from here on a word: a second forward pass, one of which no gradient is taken
WORTH_AGAIN, WORTH_ALONE = 0.08, 0.15
Rows = npt.NDArray[np.intp]


def count_forwards(lines: Lines) -> Iterator[Cause]:
    """Count the calls of modules of which no gradient is taken, by the line that makes them."""
    frames, links = lines.frames, lines.profile.gradients
    if frames is None or not frames.rows.size or not links.size:
        return
    calls = _find_outer_calls(lines)
    alone = ~_have_gradients(lines, calls)
    again = alone & _are_again(lines, calls) & np.isin(lines.trace.name[calls], lines.trace.name[calls[~alone]])
    for key, chosen, worth in (("forward_again", again, WORTH_AGAIN), ("forward_only", alone & ~again, WORTH_ALONE)):
        cause = _name_line(lines, calls[chosen], key)
        if cause is not None and cause.share >= worth:
            yield cause


def _find_outer_calls(lines: Lines) -> Rows:
    trace = lines.trace
    rows = np.flatnonzero(trace.mask_of_names(lambda name: name.startswith(MODULE)) & lines.steady)
    nesting = Nesting(trace.start_ns[rows], trace.duration_ns[rows], rows)
    return nesting.rows[nesting.parent < 0].astype(np.intp)


def _have_gradients(lines: Lines, calls: Rows) -> Mask:
    """Return of which of these calls an operator has one of backward that belongs to it."""
    trace = lines.trace
    moments = np.sort(trace.start_ns[lines.profile.gradients[:, 0]])
    begin = trace.start_ns[calls]
    end = begin + trace.duration_ns[calls]
    return np.asarray(np.searchsorted(moments, end) > np.searchsorted(moments, begin), np.bool_)


def _are_again(lines: Lines, calls: Rows) -> Mask:
    """Return which of these calls were noted as made again on the same tensor."""
    trace = lines.trace
    rows = np.flatnonzero(trace.mask_of_names(AGAIN.__eq__) & lines.steady)
    noted = set(zip(trace.start_ns[rows].tolist(), trace.duration_ns[rows].tolist()))
    spans = zip(trace.start_ns[calls].tolist(), trace.duration_ns[calls].tolist())
    return np.array([span in noted for span in spans], np.bool_)


def _name_line(lines: Lines, calls: Rows, key: str) -> Cause | None:
    """Return the cause of all of these calls at the line that makes the dearest; None where there is none."""
    trace = lines.trace
    names = lines.lines_at(trace.start_ns[calls])
    calls, names = calls[names >= 0], names[names >= 0]
    by_line = np.bincount(names, trace.duration_ns[calls], minlength=1)
    if not by_line.any():
        return None
    best = int(by_line.argmax())
    spans = Intervals.union_of(trace.start_ns[calls], trace.start_ns[calls] + trace.duration_ns[calls])
    where, spent = describe_frame(trace.names[best]), float(spans.length_ns) / lines.steps
    number = max(1, round(calls.size / lines.steps))
    cause = make_cause(lines, "computing", key, spent, where, float(by_line[best] / by_line.sum()), calls=number)
    saving = lines.weigh(spans)
    if key == "forward_only":  # how much of it is needed, nothing tells
        saving = Range(0.0, saving.most_ns)
    return replace(cause, confidence="likely", predicted=saving)
