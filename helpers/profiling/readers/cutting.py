"""A trace of some of its steps: what was read around them is taken away again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from helpers.errors import WorkbookError
from helpers.profiling.readers.choice import ALL, AUTO, Choice, Mark, choice_of, choose
from helpers.profiling.readers.loading import Loaded, load
from helpers.profiling.trace import KINDS, Texts, Trace

PLAIN = ("kind", "start_ns", "duration_ns", "launch_ns")
TEXTS = ("name", "lane", "shape", "engine", "dtype", "stack")
#: The part of the kernels without a launch that was read, which tells of a device far behind the host
FAR_BEHIND = 0.1


def chosen(path: Path, steps: str, read: Callable[[Loaded], Trace]) -> Trace:
    """The Trace of the steps of a file that choice.choose names, or of all of them. `read` makes the Trace of what
    was loaded. Raises WorkbookError as these do."""
    choice = choose(path, steps)
    if choice is None:
        return cut(read(load(path)), steps)
    return _kept(read(load(path, (choice.begin_ns, choice.end_ns))), choice)


def cut(trace: Trace, steps: str) -> Trace:
    """Of a trace that was read whole the steps with these numbers; `auto` and `all` are all of them."""
    if steps in (AUTO, ALL):
        return trace
    marks = [Mark(one.number, one.start_ns, one.end_ns) for one in trace.steps]
    choice = choice_of(marks, steps, Path(trace.source))
    return _kept(trace, choice) if choice else trace


def _kept(trace: Trace, choice: Choice) -> Trace:
    """The steps from the one that leads in to the last, and what lies outside of all steps but reaches into these."""
    numbers = [one.number for one in trace.steps]
    if numbers.count(choice.lead) != 1 or numbers.count(choice.last) != 1:
        span = f"{choice.looked.first}-{choice.looked.last}"
        raise WorkbookError("profiling.steps_not_told_apart", path=trace.source, steps=span)
    first, last = numbers.index(choice.lead), numbers.index(choice.last)
    begin, end = trace.steps[first].start_ns, trace.steps[last].end_ns
    around = (trace.step < 0) & (trace.start_ns < end) & (trace.start_ns + trace.duration_ns >= begin)
    rows = np.flatnonzero(((trace.step >= first) & (trace.step <= last)) | around)
    at_row = np.full(len(trace) + 1, -1, np.int32)
    at_row[rows] = np.arange(rows.size, dtype=np.int32)
    changed: dict[str, Any] = {name: getattr(trace, name)[rows] for name in PLAIN}
    for name in TEXTS:
        first_text = () if name in ("name", "lane") else ("",)
        kept = Texts(getattr(trace, f"{name}s"), getattr(trace, name)[rows]).compact(first_text)
        changed.update({name: kept.code, f"{name}s": tuple(kept.texts)})
    step = trace.step[rows]
    changed["step"] = np.where(step >= 0, step - np.int32(first), np.int32(-1))
    changed["launched_by"] = at_row[trace.launched_by[rows]]
    changed["detail"] = None if trace.detail is None else trace.detail[rows]
    looked = replace(choice.looked, behind=_behind(trace, first, last))
    return replace(trace, steps=trace.steps[first : last + 1], looked=looked, **changed)


def _behind(trace: Trace, first: int, last: int) -> bool:
    """Whether of many kernels no launch was read, though operators were: or there is a step without any kernel."""
    steps = (trace.step >= first) & (trace.step <= last)
    kernels = steps & (trace.kind == KINDS.index("compute"))
    if not (trace.kind == KINDS.index("host_op")).any() or not trace.on_device:
        return False
    if np.unique(trace.step[kernels]).size < last - first + 1:
        return True
    return bool((trace.launched_by[kernels] < 0).mean() > FAR_BEHIND)
