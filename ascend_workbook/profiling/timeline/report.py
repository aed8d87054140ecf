"""The timeline as a Report: a row a lane; what is drawn lies in `facts["timeline"]`, small enough for a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import format_spans
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.intervals import Intervals
from ascend_workbook.profiling.timeline.overview import COLUMNS, Overview, make_overview
from ascend_workbook.profiling.timeline.window import MERGED, Window, make_window
from ascend_workbook.profiling.trace import KINDS, Trace

#: Boxes of a page: some 30 bytes each
MOST = 20_000
NAME = 300
#: Letters of all names, and of all shapes; parts of an overview's strips: where there are many each is shorter
LETTERS, PARTS = 800_000, 400_000
#: Where there is less room, as with several reports on a page, these have at least this part of it
LEAST = 1 / 8


def report_timeline(profile: Profile, *, step: int | None = None, most: int = MOST) -> Report:
    """Report the step with this number in detail (None: the one nearest to the median of the steady steps) and an
    overview of the whole. Raises WorkbookError where there is no such step."""
    chosen = _choose_step(profile, step)
    shown = make_window(profile.trace, chosen.start_ns, chosen.end_ns, most)
    room = min(1.0, max(LEAST, most / MOST))
    whole = make_overview(profile.trace, _column_count(profile.trace, room))
    return Report(
        "profiling",
        "timeline",
        (_make_finding(profile, shown, chosen.number),),
        _make_table(shown),
        Chart("lanes", "lane", ("lane_busy",), "ms"),
        facts={"timeline": pack_timeline(profile, shown, chosen.number, whole, room)},
        tier=profile.tier,
    )


def _choose_step(profile: Profile, step: int | None) -> Any:
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


def _make_finding(profile: Profile, shown: Window, step: int) -> Finding:
    args: dict[str, Scalar] = {
        "step": step,
        "events": shown.event_count,
        "all": len(profile.trace),
        "merged": shown.merged_count,
    }
    args |= {"resolution_us": shown.resolution_ns / 1000, "ms": profile.to_ms(shown.end_ns - shown.start_ns)}
    return Finding("PRF340", Status.OK, "PRF340.merged" if shown.merged_count else "PRF340.whole", args)


def _make_table(shown: Window) -> Table:
    rows: list[tuple[Scalar, ...]] = []
    length = max(1, shown.end_ns - shown.start_ns)
    for number, lane in enumerate(shown.lanes):
        at = shown.boxes.lane == number
        begin = shown.boxes.begin_ns[at]
        busy = Intervals.union_of(begin, begin + shown.boxes.length_ns[at]).length_ns
        group: Scalar = Sentence(f"timeline.group.{lane.group}")
        rows.append((lane.name, group, int(shown.boxes.events[at].sum()), busy / 1e6, 100 * busy / length))
    heads = (("lane", ""), ("lane_group", ""), ("lane_events", ""), ("lane_busy", "ms"), ("share", "%"))
    return Table(tuple(Column(*head) for head in heads), tuple(rows))


def pack_timeline(profile: Profile, shown: Window, step: int, whole: Overview, room: float = 1.0) -> dict[str, Any]:
    """Return what the views draw: texts once, columns of whole numbers as texts with blanks; times in nanoseconds after
    the window's start, `begin` as differences. `by` is the box that launched a box, -1 where it is not in the window.
    """
    trace = profile.trace
    single = shown.boxes.row != MERGED
    rows = np.maximum(shown.boxes.row, 0)
    names, name = _used_texts(trace.names, np.where(single, trace.name[rows] if len(trace) else 0, -1), room)
    shapes, shape = _used_texts(trace.shapes, np.where(single, trace.shape[rows] if len(trace) else 0, -1), room)
    begin = shown.boxes.begin_ns - shown.start_ns
    return {
        "step": step,
        "simulated": profile.simulated,
        "length_ns": shown.end_ns - shown.start_ns,
        "resolution_ns": shown.resolution_ns,
        "merged": shown.merged_count,
        "kinds": list(KINDS),
        "lanes": [[lane.group, _cut_text(lane.name, NAME)] for lane in shown.lanes],
        "names": names,
        "shapes": shapes,
        "boxes": {
            "begin": _column_text(np.diff(begin, prepend=0)),
            "length": _column_text(shown.boxes.length_ns),
            "lane": _column_text(shown.boxes.lane),
            "level": _column_text(shown.boxes.level),
            "kind": _column_text(shown.boxes.kind),
            "name": _column_text(name),
            "shape": _column_text(shape),
            "by": _column_text(_launching_boxes(trace, shown, single, rows)),
            "count": _column_text(shown.boxes.events) if shown.merged_count else "",
            "own": _column_text(shown.boxes.own_ns) if shown.merged_count else "",
        },
        "overview": _pack_overview(trace, whole, shown),
    }


def _column_count(trace: Trace, room: float) -> int:
    return max(40, min(COLUMNS, int(PARTS * room) // max(1, 2 * len(trace.lanes))))


def _pack_overview(trace: Trace, whole: Overview, shown: Window) -> dict[str, Any]:
    tenths = np.ceil(np.clip(whole.busy, 0, 1) * 9).astype(np.int64)
    steps = [(entry.number, entry.start_ns - whole.start_ns, entry.end_ns - whole.start_ns) for entry in trace.steps]
    return {
        "length_ns": whole.end_ns - whole.start_ns,
        "window": f"{shown.start_ns - whole.start_ns} {shown.end_ns - whole.start_ns}",
        "lanes": [[lane.group, _cut_text(lane.name, NAME)] for lane in whole.lanes],
        "busy": ["".join(map(str, row)) for row in tenths.tolist()],
        "steps": [" ".join(map(str, step)) for step in steps[:2000]],
        "events": len(trace),
    }


def _launching_boxes(trace: Trace, shown: Window, single: npt.NDArray[np.bool_], rows: Any) -> npt.NDArray[np.int64]:
    if not len(trace):
        return np.empty(0, np.int64)
    box_of = np.full(len(trace), -1, np.int64)
    box_of[shown.boxes.row[single]] = np.flatnonzero(single)
    by = np.where(single, trace.launched_by[rows], -1)
    return np.where(by >= 0, box_of[by], -1)


def _used_texts(texts: tuple[str, ...], code: Any, room: float) -> tuple[list[str], Any]:
    """Return the texts that are used, cut to a length that a reader and a page can take in, and the codes in them."""
    used, again = np.unique(code, return_inverse=True)
    first = 1 if used.size and used[0] < 0 else 0
    letters = max(16, min(NAME, int(LETTERS * room) // max(1, used.size)))
    return [_cut_text(texts[at], letters) for at in used.tolist()[first:]], again.reshape(-1) - first


def _cut_text(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _column_text(values: Iterable[Any]) -> str:
    return " ".join(map(str, np.asarray(values).tolist()))
