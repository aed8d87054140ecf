"""A trace of some of its steps: what was read around them is taken away again.

With a device a step begins where the device's work of the steps before ends. What other steps launched and what runs
while the chosen ones do stays, as of no step: the device is busy with it. Where what was read does not reach that far,
for the device is steps behind the host, the file is read once more, further around."""

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
from ascend_workbook.profiling.readers.columns import Columns, Window
from ascend_workbook.profiling.readers.loading import Loaded, load_events
from ascend_workbook.profiling.readers.records import UNKNOWN
from ascend_workbook.profiling.readers.values import LIMIT
from ascend_workbook.profiling.trace import I32, ON_DEVICE, TEXTS, TIMES, UNTOLD, Texts, Trace

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
        if choice.why:
            mib = choice.size // 2**20
            remark = Sentence(f"PRF302.{choice.why}", mib=mib, memory_mib=round(LEAST_MIB + EACH_MIB * mib))
            trace = replace(trace, remarks=(remark,))
        return cut_to_steps(trace, steps)
    trace, part, enough = _read_around(path, choice, AROUND, read)
    if not (enough and trace.on_device):  # of a device that begins late nothing may have been read yet
        del trace  # before the next is there
        trace, part, enough = _read_around(path, choice, choice.steps_further_around, read)
    return _keep_part(trace, choice, part, behind=not enough)


def _read_around(path: Path, choice: Choice, around: int, read: Callable[[Loaded], Trace]) -> tuple[Trace, Part, bool]:
    """Read the chosen steps with so many on either side: the trace, where they are in it, whether it tells all."""
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
    """Return where the chosen steps are. Raises WorkbookError where the marks tell of other steps than the trace."""
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
    begin = min(int(launched.min(initial=device)), int(trace.start_ns[meanwhile].min(initial=device)))
    begin = min(begin, trace.steps[first].start_ns)
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
    changed: dict[str, Any] = {name: getattr(trace, name)[rows] for name in ("kind", *TIMES)}
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


BOOLS = npt.NDArray[np.bool_]
FAR = 2**62


def find_unread_halves(columns: Columns, calls: Rows, device: Rows, call: I32) -> BOOLS:
    """Return which events (n,) have a number whose other end was not read: of `device` those whose call is not among
    `calls`, `call` (device,) being what was found; of the calls those that launched nothing, though others of their
    name did. None where no call has a number."""
    is_half = np.zeros(columns.name.size, np.bool_)
    calls = calls[columns.correlation[calls] != UNKNOWN]
    if calls.size:
        is_half[device] = (columns.correlation[device] != UNKNOWN) & (call < 0)
        launch = np.isin(columns.name[calls], columns.name[call[call >= 0]]) if (call >= 0).any() else True
        is_half[calls] = ~np.isin(columns.correlation[calls], columns.correlation[device]) & launch
    return is_half


def read_far_enough(trace: Trace, unread: BOOLS | None, part: Part, window: Window) -> bool:
    """Return whether what was read, [begin, end) in nanoseconds, holds all of the part; `unread` (n,) is what
    find_unread_halves returns."""
    begin, end = window
    if (begin > -LIMIT // 2 and part.begin_ns < begin) or (end < LIMIT // 2 and part.end_ns >= end):
        return False
    if unread is None or not unread.size:
        return True
    device = trace.where(ON_DEVICE)
    before = begin > -LIMIT // 2 and _launched_before(trace, unread, device, part)
    return not (before or (end < LIMIT // 2 and _runs_behind(trace, unread, device, part)))


def _launched_before(trace: Trace, unread: BOOLS, device: BOOLS, part: Part) -> bool:
    """Return whether in the part's time a kernel runs whose launch was not read, and none before it on its lane was."""
    known = device & ~unread & ((trace.launch_ns != UNTOLD) | (trace.launched_by >= 0))
    first = np.full(len(trace.lanes), FAR, np.int64)
    np.minimum.at(first, trace.lane[known], trace.start_ns[known])
    meanwhile = (trace.start_ns <= part.end_ns) & (trace.start_ns + trace.duration_ns >= part.begin_ns)
    return bool((device & unread & meanwhile & (trace.start_ns < first[trace.lane])).any())


def _runs_behind(trace: Trace, unread: BOOLS, device: BOOLS, part: Part) -> bool:
    """Return whether what was launched until then was not read, and not every lane has come to later launches."""
    own_rows = (trace.step >= part.first) & (trace.step <= part.last)
    open_ones, latest = unread & ~device & (trace.start_ns <= part.launched_ns), _latest_launches(trace, device)
    if not open_ones.any():
        # where launches are known, what a step launched is known to be there; else the device must be behind the part
        is_known = (trace.launch_ns[device & own_rows] != UNTOLD).any() or not (device & (trace.launched_by >= 0)).any()
        return not is_known and int(latest.max()) < trace.steps[part.last].end_ns
    lanes = np.unique(trace.lane[device & own_rows])
    reached = int(latest[lanes].min()) if lanes.size else -FAR
    return bool((trace.start_ns[open_ones] >= reached).any())


def _latest_launches(trace: Trace, device: BOOLS) -> I64:
    """Return when the last of each lane's kernels was launched: (lanes,)."""
    by = trace.launched_by
    launch = np.where(trace.launch_ns != UNTOLD, trace.launch_ns, np.where(by >= 0, trace.start_ns[by], -FAR))
    latest = np.full(len(trace.lanes), -FAR, np.int64)
    np.maximum.at(latest, trace.lane[device], launch[device])
    return latest
