"""The timeline of a profile in its report: each event of a small one, of a larger one a step, merged where it must be.

What is drawn lies in `facts["timeline"]`; the page's script reads it, and ascend_workbook/show/timeline_picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import format_spans
from ascend_workbook.profiling.breakdown import StepTime
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import make_columns
from ascend_workbook.profiling.intervals import Intervals
from ascend_workbook.profiling.readers.tables import MemoryTables
from ascend_workbook.profiling.timeline.index import (
    Curve,
    Index,
    Lane,
    Mark,
    Part,
    build_index,
    clean_text,
    clean_texts,
    count_queue,
)
from ascend_workbook.profiling.timeline.page import column_text, cut_texts, pack_side
from ascend_workbook.profiling.timeline.step import MERGED, Window, make_window
from ascend_workbook.profiling.trace import Trace

#: Boxes of a page: some 25 bytes each
MOST = 120_000
#: Letters of all names, and of all shapes; names whose totals are told where not every event has a box
LETTERS, TOTALS = 800_000, 2_000
#: Where there is less room, as with several reports on a page, these have at least this part of it
LEAST = 1 / 8


def report_timeline(profile: Profile, *, step: int | None = None, most: int = MOST) -> Report:
    """Report the profile on a timeline that shows the step with this number first (None: the one nearest to the median
    of the steady steps). Where it has more than `most` events, this step alone. Raises WorkbookError where there is no
    such step."""
    chosen, trace = _choose_step(profile, step), profile.trace
    letters = int(LETTERS * min(1.0, max(LEAST, most / MOST)))
    curves = tuple(filter(None, (count_queue(trace), *list_memory_curves(lambda: profile.memory))))
    if len(trace) <= most:
        index = build_index([Part(0, trace, curves)], simulated=profile.simulated)
        side, begin = pack_side(index, "", letters=letters), index.start_ns
        shown, merged, resolution = len(trace), 0, 0
    else:
        window = make_window(trace, chosen.start_ns, chosen.end_ns, most)
        side, begin = pack_window(profile, window, letters, curves), chosen.start_ns
        shown, merged, resolution = window.event_count, window.merged_count, window.resolution_ns
    between = [chosen.start_ns - begin, chosen.end_ns - begin]
    args: dict[str, Scalar] = {"step": chosen.number, "events": shown, "all": len(trace), "merged": merged}
    args |= {"resolution_us": resolution / 1000, "ms": profile.to_ms(chosen.end_ns - chosen.start_ns)}
    key = "PRF340.merged" if merged else "PRF340.step" if shown < len(trace) else "PRF340.whole"
    return Report(
        "profiling",
        "timeline",
        (Finding("PRF340", Status.GOOD, key, args),),
        _list_lanes(trace, chosen),
        Chart("lanes", "lane", ("lane_busy",), "ms"),
        facts={"timeline": {"step": chosen.number, "window": between, "merged": merged, "sides": [side]}},
        tier=profile.tier,
    )


def list_memory_curves(read: Callable[[], MemoryTables | None]) -> Sequence[Curve]:
    """Return what the allocator held over time; none where it was not recorded, or cannot be read."""
    try:
        memory = read()
    except WorkbookError:
        return ()  # the answers on memory say so
    if memory is None:
        return ()
    return (
        Curve("allocated", "MB", memory.at_ns, memory.allocated_mb),
        Curve("reserved", "MB", memory.at_ns, memory.reserved_mb),
    )


def _list_lanes(trace: Trace, step: StepTime) -> Table:
    """List the lanes with what they have in the step."""
    window = make_window(trace, step.start_ns, step.end_ns, len(trace))
    length = max(1, step.end_ns - step.start_ns)
    rows: list[tuple[Scalar, ...]] = []
    for number, lane in enumerate(window.lanes):
        at = window.boxes.lane == number
        begin = window.boxes.begin_ns[at]
        busy = Intervals.union_of(begin, begin + window.boxes.length_ns[at]).length_ns
        group: Scalar = Sentence(f"timeline.group.{lane.group}")
        rows.append((lane.name, group, int(window.boxes.events[at].sum()), busy / 1e6, 100 * busy / length))
    return Table(make_columns(lane="", lane_group="", lane_events="", lane_busy="ms", share="%"), tuple(rows))


def _choose_step(profile: Profile, step: int | None) -> StepTime:
    steps = profile.breakdown.steps
    if step is None:
        middle = profile.breakdown.median_ns
        return min(profile.breakdown.steady, key=lambda candidate: abs(candidate.total_ns - middle))
    matches = [candidate for candidate in steps if candidate.number == step]
    if not matches:
        key = "profiling.step_not_looked_at" if profile.trace.looked else "profiling.no_such_step"
        here = format_spans([candidate.number for candidate in steps])
        raise WorkbookError(key, path=profile.trace.source, step=step, steps=here)
    return matches[-1]


def pack_window(profile: Profile, window: Window, letters: int, curves: Sequence[Curve]) -> dict[str, Any]:
    """Pack a window's boxes as a side of a page (page.pack_side), of which some may stand for several events: `count`
    and `own` say for how many, and what time they take; `totals` what the whole profile has of each name."""
    trace, boxes = profile.trace, window.boxes
    order = np.lexsort((boxes.begin_ns, boxes.level, boxes.lane))
    boxes = boxes.take_rows(order)
    levels = [int(boxes.level[boxes.lane == number].max(initial=0)) + 1 for number in range(len(window.lanes))]
    first = np.concatenate(([0], np.cumsum(levels))).astype(np.int64)
    row = first[boxes.lane] + boxes.level
    single = boxes.row != MERGED
    rows = np.maximum(boxes.row, 0)
    names, name = _used_texts(trace.names, np.where(single, trace.name[rows], -1))
    shapes, shape = _used_texts(trace.shapes, np.where(single, trace.shape[rows], -1))
    span = window.end_ns - window.start_ns + 2
    begin = boxes.begin_ns - window.start_ns
    index = Index(
        start_ns=window.start_ns,
        span_ns=span,
        lanes=tuple(
            Lane(0, lane.group, clean_text(lane.name), int(first[at]), levels[at])
            for at, lane in enumerate(window.lanes)
        ),
        steps=tuple(
            Mark(0, step.number, step.start_ns - window.start_ns, step.end_ns - window.start_ns)
            for step in trace.steps
            if trace.marked and step.start_ns < window.end_ns and step.end_ns > window.start_ns
        ),
        names=clean_texts(names),
        shapes=clean_texts(shapes),
        key=row * span + begin,
        length_ns=boxes.length_ns,
        name=name,
        kind=boxes.kind.astype(np.int8),
        shape=shape,
        by=_launching_boxes(trace, boxes.row, single, rows),
        curves=tuple(_cut_curve(curve, window) for curve in curves),
        simulated=profile.simulated,
    )
    side = pack_side(index, "", letters=letters)
    side["boxes"] |= {"count": column_text(boxes.events), "own": column_text(boxes.own_ns)}
    side["totals"] = _sum_names(trace, letters // 4, len(boxes.row))
    return side


def _cut_curve(curve: Curve, window: Window) -> Curve:
    inside = (curve.at_ns >= window.start_ns) & (curve.at_ns < window.end_ns)
    return curve._replace(at_ns=curve.at_ns[inside] - window.start_ns, value=curve.value[inside])


def _sum_names(trace: Trace, letters: int, most: int) -> list[list[Any]]:
    """Return [name, events, nanoseconds] of the whole profile, the dearest first."""
    counts = np.bincount(trace.name, minlength=len(trace.names))
    spent = np.bincount(trace.name, weights=trace.duration_ns, minlength=len(trace.names))
    order = np.argsort(-spent, kind="stable")[: min(TOTALS, most)].tolist()
    names = cut_texts(clean_texts([trace.names[at] for at in order]), letters)
    return [[name, int(counts[at]), float(spent[at])] for name, at in zip(names, order)]


def _launching_boxes(
    trace: Trace, row: npt.NDArray[np.integer], single: npt.NDArray[np.bool_], rows: npt.NDArray[np.integer]
) -> npt.NDArray[np.int32]:
    """Return the place of the box that launched a box, -1 where it has none of its own."""
    box_of = np.full(len(trace), -1, np.int64)
    box_of[row[single]] = np.flatnonzero(single)
    by = np.where(single, trace.launched_by[rows], -1)
    return np.where(by >= 0, box_of[by], -1).astype(np.int32)


def _used_texts(texts: tuple[str, ...], code: npt.NDArray[np.integer]) -> tuple[list[str], Any]:
    """Return the texts that are used, and the codes in them; -1 stays."""
    used, again = np.unique(code, return_inverse=True)
    first = 1 if used.size and used[0] < 0 else 0
    return [texts[at] for at in used.tolist()[first:]], (again.reshape(-1) - first).astype(np.int32)
