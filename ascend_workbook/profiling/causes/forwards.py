"""Forward passes that may be left out: of a module that was called on the same tensor before, with the same weights or
for something beside the training, as an accuracy; and such of which no gradient is taken at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.lines import Lines, Mask, make_cause
from ascend_workbook.profiling.causes.loops import MODULE
from ascend_workbook.profiling.causes.marks import describe_frame
from ascend_workbook.profiling.intervals import EMPTY, Intervals

#: Beside the call of a module: it was called before on the same tensor
AGAIN = "module again on the same input"
#: The same, with the same weights, and nothing in it is left to chance: its result is the same
SAME = "module again with the same result"
#: Of the step, from here on a word: a second forward pass, one of which no gradient is taken
WORTH_AGAIN, WORTH_ALONE = 0.08, 0.15
Rows = npt.NDArray[np.intp]


def count_forwards(lines: Lines) -> Iterator[Cause]:
    """Count the calls of modules whose result was known, or of which no gradient is taken, by the line that makes the
    dearest."""
    frames, links = lines.frames, lines.profile.gradients
    if frames is None or not frames.rows.size or not links.size:
        return
    calls = np.flatnonzero(lines.trace.mask_of_names(lambda name: name.startswith(MODULE)) & lines.steady)
    alone, same = ~_have_gradients(lines, calls), _are_noted(lines, calls, SAME)
    again = alone & _are_noted(lines, calls, AGAIN) & np.isin(lines.trace.name[calls], lines.trace.name[calls[~alone]])
    kinds = (
        ("forward_same", same, WORTH_AGAIN),
        ("forward_again", again & ~same, WORTH_AGAIN),
        ("forward_only", alone & ~again & ~same, WORTH_ALONE),
    )
    covered = EMPTY
    for key, chosen, worth in kinds:
        rows = _find_outer(lines, calls[chosen])
        rows = rows[~covered.cover_moments(lines.trace.start_ns[rows])]
        cause = _name_line(lines, rows, key)
        if cause is not None and cause.share >= worth:
            covered |= Intervals.union_of(
                lines.trace.start_ns[rows], lines.trace.start_ns[rows] + lines.trace.duration_ns[rows]
            )
            yield cause


def _find_outer(lines: Lines, rows: Rows) -> Rows:
    trace = lines.trace
    nesting = Nesting(trace.start_ns[rows], trace.duration_ns[rows], rows)
    return nesting.rows[nesting.parent < 0].astype(np.intp)


def _have_gradients(lines: Lines, calls: Rows) -> Mask:
    """Return of which of these calls an operator has one of backward that belongs to it, or one around them, as an
    activation checkpoint is."""
    trace, rows = lines.trace, lines.profile.gradients[:, 0]
    moments = np.sort(trace.start_ns[rows])
    begin = trace.start_ns[calls]
    end = begin + trace.duration_ns[calls]
    around = Intervals.union_of(trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows])
    return (np.searchsorted(moments, end) > np.searchsorted(moments, begin)) | around.cover_moments(begin)


def _are_noted(lines: Lines, calls: Rows, note: str) -> Mask:
    """Return which of these calls have a note beside them."""
    trace = lines.trace
    rows = np.flatnonzero(trace.mask_of_names(note.__eq__) & lines.steady)
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
    spans = lines.with_gradients(spans)
    where, spent = describe_frame(trace.names[best]), float(spans.length_ns) / lines.steps
    number = max(1, round(calls.size / lines.steps))
    cause = make_cause(lines, "computing", key, spent, where, float(by_line[best] / by_line.sum()), calls=number)
    return replace(cause, confidence="likely", predicted=lines.weigh(spans))
