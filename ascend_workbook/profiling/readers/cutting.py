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

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.breakdown import device_windows
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers.choice import ALL, AROUND, AUTO, Choice, Mark, Whole, choice_of, choose_steps
from ascend_workbook.profiling.readers.loading import Loaded, load_events
from ascend_workbook.profiling.readers.unread import read_far_enough
from ascend_workbook.profiling.trace import UNTOLD, Texts, Trace

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


def read_chosen_steps(path: Path, steps: str, read: Callable[[Loaded], Trace]) -> Trace:
    """Read the Trace of the steps of a file that choice.choose_steps names, or of all of them. `read` makes the Trace
    of what was loaded. Raises WorkbookError as these do."""
    choice = choose_steps(path, steps)
    if isinstance(choice, Whole):
        trace = read(load_events(path))
        return cut_to_steps(replace(trace, remarks=(_explain_whole(choice),)) if choice.why else trace, steps)
    trace, part, enough = _read_around(path, choice, AROUND, read)
    if not (enough and trace.on_device):  # of a device that begins late nothing may have been read yet
        del trace  # before the next is there
        trace, part, enough = _read_around(path, choice, choice.steps_further_around, read)
    return _keep_part(trace, choice, part, behind=not enough)


def _explain_whole(whole: Whole) -> Sentence:
    mib = whole.size // 2**20
    args = {"mib": mib, "memory_mib": round(LEAST_MIB + EACH_MIB * mib)}
    return Sentence(f"PRF302.{whole.why}", **args)


def _read_around(path: Path, choice: Choice, around: int, read: Callable[[Loaded], Trace]) -> tuple[Trace, Part, bool]:
    """Read the chosen steps with so many on either side; return them, where they are in it, and whether all that tells
    of them is.
    """
    window = choice.file_window(around)
    loaded = load_events(path, window)
    trace, unread = read(loaded), loaded.unread
    part = part_of(trace, choice)
    base = trace.steps[part.first].start_ns - choice.marks[choice.first].start_ns
    return trace, part, read_far_enough(trace, unread, part, (window[0] + base, window[1] + base))


def cut_to_steps(trace: Trace, steps: str) -> Trace:
    """Cut a trace that was read whole to the steps with these numbers; `auto` and `all` are all of them."""
    if steps in (AUTO, ALL):
        return trace
    if not trace.marked:
        raise WorkbookError("profiling.steps_without_marks", path=trace.source, steps=steps)
    marks = [Mark(step.number, step.start_ns, step.end_ns) for step in trace.steps]
    choice = choice_of(marks, steps, Path(trace.source))
    return _keep_part(trace, choice, part_of(trace, choice)) if choice else trace


def part_of(trace: Trace, choice: Choice) -> Part:
    """Return where the chosen steps are. Raises WorkbookError where the trace's own steps are others than the marks
    tell.
    """
    numbers = [step.number for step in choice.marks[choice.first : choice.last + 1]]
    trace_numbers = [step.number for step in trace.steps]
    first = trace_numbers.index(numbers[0]) if trace_numbers.count(numbers[0]) == 1 else len(trace_numbers)
    if trace_numbers[first : first + len(numbers)] != numbers or len(set(numbers)) < len(numbers):
        raise WorkbookError("profiling.steps_not_told_apart", path=trace.source, steps=choice.span)
    last = first + len(numbers) - 1
    windows = device_windows(trace) if trace.on_device else [(s.number, s.start_ns, s.end_ns) for s in trace.steps]
    device, device_end = windows[first][1], windows[last][2]
    meanwhile = trace.where(ON_DEVICE) & (trace.start_ns <= device_end) & (ends_of(trace) >= device)
    launched = trace.launch_ns[meanwhile & (trace.launch_ns != UNTOLD)]
    own_rows = (trace.step >= first) & (trace.step <= last) & trace.where((*ON_DEVICE, "host_op", "loading"))
    begin = min(
        int(launched.min(initial=device)),
        int(trace.start_ns[meanwhile].min(initial=device)),
        trace.steps[first].start_ns,
    )
    host_end = trace.steps[last].end_ns
    end = max(device_end, host_end, int(ends_of(trace)[own_rows].max(initial=0)))
    return Part(first, last, device, begin, end, int(launched.max(initial=host_end)))


def ends_of(trace: Trace) -> I64:
    return trace.start_ns + trace.duration_ns


def _keep_part(trace: Trace, choice: Choice, part: Part, behind: bool = False) -> Trace:
    """Return the chosen steps, and what of others, as of no step, goes on or waits for the device meanwhile."""
    own_rows = (trace.step >= part.first) & (trace.step <= part.last)
    begins = np.where(trace.launch_ns == UNTOLD, trace.start_ns, np.minimum(trace.start_ns, trace.launch_ns))
    rows = np.flatnonzero(own_rows | ((begins <= part.end_ns) & (ends_of(trace) >= part.begin_ns)))
    at_row = np.full(len(trace) + 1, -1, np.int32)
    at_row[rows] = np.arange(rows.size, dtype=np.int32)
    changed: dict[str, Any] = {name: getattr(trace, name)[rows] for name in PLAIN}
    for name in TEXTS:
        first_text = () if name in ("name", "lane") else ("",)
        texts = Texts(getattr(trace, f"{name}s"), getattr(trace, name)[rows]).drop_unused(first_text)
        changed.update({name: texts.code, f"{name}s": tuple(texts.texts)})
    changed["step"] = np.where(own_rows[rows], trace.step[rows] - np.int32(part.first), np.int32(-1))
    changed["launched_by"] = at_row[trace.launched_by[rows]]
    changed["detail"] = None if trace.detail is None else trace.detail[rows]
    begin = part.device_ns if choice.first else None
    looked = replace(choice.looked_steps, behind=behind, begin_ns=begin, on_device=trace.on_device)
    return replace(trace, steps=trace.steps[part.first : part.last + 1], looked=looked, **changed)
