"""A trace of some of its steps: what was read around them is taken away again.

With a device a step begins where the device's work of the steps before ends. What other steps launched and what runs
while the chosen ones do stays, as of no step: the device is busy with it. Where what was read does not reach that far,
for the device is steps behind the host, the file is read once more, further around.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from helpers.errors import WorkbookError
from helpers.profiling.breakdown import device_windows
from helpers.profiling.intervals import I64
from helpers.profiling.readers.choice import ALL, AROUND, AUTO, Choice, Mark, Whole, choice_of, choose
from helpers.profiling.readers.loading import Loaded, load
from helpers.profiling.readers.unread import read_far_enough
from helpers.profiling.trace import UNTOLD, Texts, Trace

PLAIN = ("kind", "start_ns", "duration_ns", "launch_ns")
TEXTS = ("name", "lane", "shape", "engine", "dtype", "stack")
ON_DEVICE = ("compute", "communication", "copy")
#: MiB that reading a file whole takes: at first, and for each of the file
LEAST_MIB, EACH_MIB = 40, 0.25
Rows = npt.NDArray[np.intp]


class Part(NamedTuple):
    """The chosen steps among a trace's: the places of the first and the last, when the device came to the first, the
    nanoseconds [begin, end] that hold all that tells of them, and when the last of what runs meanwhile was launched."""

    first: int
    last: int
    device_ns: int
    begin_ns: int
    end_ns: int
    launched_ns: int


def chosen(path: Path, steps: str, read: Callable[[Loaded], Trace]) -> Trace:
    """The Trace of the steps of a file that choice.choose names, or of all of them. `read` makes the Trace of what
    was loaded. Raises WorkbookError as these do."""
    choice = choose(path, steps)
    if isinstance(choice, Whole):
        trace = read(load(path))
        return cut(replace(trace, remarks=(_reason(choice),)) if choice.why else trace, steps)
    trace, part, enough = _read(path, choice, AROUND, read)
    if not (enough and trace.on_device):  # of a device that begins late nothing may have been read yet
        del trace  # before the next is there
        trace, part, enough = _read(path, choice, choice.further, read)
    return _kept(trace, choice, part, behind=not enough)


def _reason(whole: Whole) -> dict[str, Any]:
    mib = whole.size // 2**20
    args = {"mib": mib, "memory_mib": round(LEAST_MIB + EACH_MIB * mib)}
    return {"say": f"PRF302.{whole.why}", "args": args}


def _read(path: Path, choice: Choice, around: int, read: Callable[[Loaded], Trace]) -> tuple[Trace, Part, bool]:
    """The steps with so many on either side, where they are in it, and whether all that tells of them is."""
    window = choice.window(around)
    loaded = load(path, window)
    trace, unread = read(loaded), loaded.unread
    part = part_of(trace, choice)
    base = trace.steps[part.first].start_ns - choice.marks[choice.first].start_ns
    return trace, part, read_far_enough(trace, unread, part, (window[0] + base, window[1] + base))


def cut(trace: Trace, steps: str) -> Trace:
    """Of a trace that was read whole the steps with these numbers; `auto` and `all` are all of them."""
    if steps in (AUTO, ALL):
        return trace
    if not trace.marked:
        raise WorkbookError("profiling.steps_without_marks", path=trace.source, steps=steps)
    marks = [Mark(one.number, one.start_ns, one.end_ns) for one in trace.steps]
    choice = choice_of(marks, steps, Path(trace.source))
    return _kept(trace, choice, part_of(trace, choice)) if choice else trace


def part_of(trace: Trace, choice: Choice) -> Part:
    """Where the chosen steps are. Raises WorkbookError where the trace's own steps are others than the marks tell."""
    numbers = [one.number for one in choice.marks[choice.first : choice.last + 1]]
    there = [one.number for one in trace.steps]
    first = there.index(numbers[0]) if there.count(numbers[0]) == 1 else len(there)
    if there[first : first + len(numbers)] != numbers or len(set(numbers)) < len(numbers):
        raise WorkbookError("profiling.steps_not_told_apart", path=trace.source, steps=choice.span)
    last = first + len(numbers) - 1
    windows = device_windows(trace) if trace.on_device else [(s.number, s.start_ns, s.end_ns) for s in trace.steps]
    device, device_end = windows[first][1], windows[last][2]
    meanwhile = trace.where(ON_DEVICE) & (trace.start_ns <= device_end) & (ends_of(trace) >= device)
    launched = trace.launch_ns[meanwhile & (trace.launch_ns != UNTOLD)]
    mine = (trace.step >= first) & (trace.step <= last) & trace.where((*ON_DEVICE, "host_op", "loading"))
    begin = min(int(launched.min(initial=device)), int(trace.start_ns[meanwhile].min(initial=device)),
                trace.steps[first].start_ns)  # fmt: skip
    host_end = trace.steps[last].end_ns
    end = max(device_end, host_end, int(ends_of(trace)[mine].max(initial=0)))
    return Part(first, last, device, begin, end, int(launched.max(initial=host_end)))


def ends_of(trace: Trace) -> I64:
    return trace.start_ns + trace.duration_ns


def _kept(trace: Trace, choice: Choice, part: Part, behind: bool = False) -> Trace:
    """The chosen steps, and what of others, as of no step, goes on or waits for the device meanwhile."""
    mine = (trace.step >= part.first) & (trace.step <= part.last)
    begins = np.where(trace.launch_ns == UNTOLD, trace.start_ns, np.minimum(trace.start_ns, trace.launch_ns))
    rows = np.flatnonzero(mine | ((begins <= part.end_ns) & (ends_of(trace) >= part.begin_ns)))
    at_row = np.full(len(trace) + 1, -1, np.int32)
    at_row[rows] = np.arange(rows.size, dtype=np.int32)
    changed: dict[str, Any] = {name: getattr(trace, name)[rows] for name in PLAIN}
    for name in TEXTS:
        first_text = () if name in ("name", "lane") else ("",)
        kept = Texts(getattr(trace, f"{name}s"), getattr(trace, name)[rows]).compact(first_text)
        changed.update({name: kept.code, f"{name}s": tuple(kept.texts)})
    changed["step"] = np.where(mine[rows], trace.step[rows] - np.int32(part.first), np.int32(-1))
    changed["launched_by"] = at_row[trace.launched_by[rows]]
    changed["detail"] = None if trace.detail is None else trace.detail[rows]
    begin = part.device_ns if choice.first else None
    looked = replace(choice.looked, behind=behind, begin_ns=begin, on_device=trace.on_device)
    return replace(trace, steps=trace.steps[part.first : part.last + 1], looked=looked, **changed)
