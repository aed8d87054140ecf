"""The lines of the script that the host was at, as `profile` samples them beside the profiler's data: python events.

A span of a frame lasts from half a sample before it was first seen at a line to half a sample after it was last seen
there; while no sample came, for one call kept the interpreter, the stack seen next counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.intervals import EMPTY, Intervals
from ascend_workbook.profiling.trace import KINDS, UNTOLD, Trace

#: In a Trace's `about`: how many stacks were sampled, and how many of its python events are made of them
SAMPLED, SPANS = "sampled_stacks", "sampled_spans"
#: The same: the shapes of gradients that no update ever uses; what watches each of Python's allocations or calls, and
#: the line that began it, empty where that is not known
NEVER_USED, WATCHED = "never_used", "watched"
#: The same: modes in which operators are dispatched through Python, where they were entered, and the file that their
#: class is in; lines at which other
#: threads of the script's ran, and in how many of the looks
MODES, OTHERS = "modes", "others"
RANK_OF_DATA = re.compile(r"(rank\d+)(?:\.pt\.trace\.json|_.*_ascend_pt)")
#: A collection of Python's garbage, as torch_npu calls it
COLLECTION = "GC"
#: (name, begin, end) in nanoseconds
Span = tuple[str, int, int]


def add_sampled_lines(trace: Trace, profile_path: Path) -> Trace:
    """Add what was sampled beside the profile to its trace: frames of python, named `train.py(12): main`, on the
    thread that was sampled. A trace without such a file stays as it is; a damaged one is told of."""
    path = find_samples(profile_path)
    if path is None or not len(trace):
        return trace
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        names = [f"{file}({line}): {function}" for file, line, function in content["frames"]]
        spans = [*_find_spans(content), *((COLLECTION, begin, begin + ns) for begin, ns, _ in content["collections"])]
        for begin, ns, frame, *called in content.get("calls", ()):
            spans += [(name, begin, begin + ns) for name in (names[frame], *called)]
        count, thread = len(content["samples"]), int(content["tid"])
        about: dict[str, object] = {SAMPLED: count, NEVER_USED: str(content.get("never_used", ""))}
        watched = [
            (tool, f"{file}({line}): {name}" if file else "") for tool, file, line, name in content.get("tools", ())
        ]
        about[MODES] = [
            (mode, f"{file}({line}): {name}", *of_class)
            for mode, file, line, name, *of_class in content.get("modes", ())
        ]
        others = [(f"{file}({line}): {name}", int(seen)) for file, line, name, seen in content.get("others", ())]
        about[OTHERS] = others
        ended = str(content.get("ended_early", ""))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        unread = Sentence("profiling.unreadable", path=str(path), error=why)
        return replace(trace, remarks=(*trace.remarks, unread))
    if ended:
        early = Sentence("profiling.sampling_ended", path=str(path), error=ended)
        trace = replace(trace, remarks=(*trace.remarks, early))
    begin, end = int(trace.start_ns.min()), int((trace.start_ns + trace.duration_ns).max())
    inside = [span for span in spans if span[2] > begin and span[1] < end]
    about |= {SPANS: len(inside), WATCHED: watched}
    return replace(_append_spans(trace, inside, thread), about={**trace.about, **about})


def read_delays(profile_path: Path) -> Intervals:
    """Return when the sampled thread could have gone on and did not, for other programs had the cores, or the sampler
    the interpreter: none where nothing was sampled, or the system does not tell it."""
    path = find_samples(profile_path)
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path else {}
        return find_lost_times(content.get("delays", ()))
    except (OSError, ValueError, TypeError, AttributeError):  # add_sampled_lines tells of it
        return EMPTY


def read_calm_step(profile_path: Path) -> tuple[float, int]:
    """Return the nanoseconds of the median of the steps that were not recorded, without what the thread waited for a
    core, and how many these are; 0 where none is known."""
    path = find_samples(profile_path)
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path else {}
        steps = [int(took) - int(waited) for took, waited in content.get("calm_steps", ())]
        steps = [step for step in steps if step > 0]  # what waited may be told for too long
        return float(median(steps or [0])), len(steps)
    except (OSError, ValueError, TypeError, AttributeError):  # add_sampled_lines tells of it
        return 0.0, 0


def find_lost_times(delays: Sequence[Sequence[int]]) -> Intervals:
    """Return when a thread could have gone on and did not, by the rows of LineSampler.delays. What a look finds waited
    lies directly before it. Where the thread rests it may wait for another, and for that one's core; not while that one
    runs, and not where it sleeps. Older rows tell neither."""
    rows = [[int(value) for value in row] for row in delays]
    table = np.array([[*row, 0, 0][:7] for row in rows], np.int64).reshape(-1, 7)
    if len(table) < 2:
        return EMPTY
    at_ns, held_ns, asleep = table[:, 0], table[1:, 4], table[1:, 6] + table[:-1, 6] > 0
    wall, ran, own, others, others_ran = np.diff(table[:, [0, 1, 2, 3, 5]], axis=0).T
    resting = np.where(asleep, 0, np.maximum(0, wall - ran - own - others_ran))
    lost = own + np.minimum(resting, np.maximum(others, held_ns))
    return Intervals.union_of(np.maximum(at_ns[1:] - lost, at_ns[:1]), at_ns[1:])


def without(trace: Trace, taken: Intervals) -> Trace:
    """Return the trace as if these intervals had not been: everything behind them comes so much earlier."""
    if not taken.start_ns.size:
        return trace
    start_ns, end_ns = (at - taken.before_ns(at) for at in (trace.start_ns, trace.start_ns + trace.duration_ns))
    launch_ns = np.where(trace.launch_ns == UNTOLD, UNTOLD, trace.launch_ns - taken.before_ns(trace.launch_ns))
    edges = np.array([(step.start_ns, step.end_ns) for step in trace.steps], np.int64).reshape(-1, 2)
    edges -= taken.before_ns(edges)
    steps = tuple(replace(step, start_ns=begin, end_ns=end) for step, (begin, end) in zip(trace.steps, edges.tolist()))
    return replace(trace, start_ns=start_ns, duration_ns=end_ns - start_ns, launch_ns=launch_ns, steps=steps)


def sampled_stacks(trace: Trace) -> int:
    """Return how many stacks were sampled beside the trace."""
    return _count_of(trace, SAMPLED)


def sampled_spans(trace: Trace) -> int:
    """Return how many of the trace's python events are spans of sampled stacks."""
    return _count_of(trace, SPANS)


def _count_of(trace: Trace, name: str) -> int:
    count = trace.about.get(name)
    return count if isinstance(count, int) else 0


def find_samples(profile_path: Path) -> Path | None:
    """Return the file of samples beside a profile of `profile`, or None."""
    for place in (profile_path, profile_path.parent, profile_path.parent.parent):
        match = RANK_OF_DATA.fullmatch(place.name)
        if match:
            path = place.with_name(f"{match[1]}.lines.json")
            return path if path.is_file() else None
    return None


def _find_spans(content: dict[str, Any]) -> Iterator[Span]:
    """Yield when each frame of the stacks was at each of its lines, outer frames before inner ones."""
    names = [f"{file}({line}): {function}" for file, line, function in content["frames"]]
    half = int(content["interval_ns"]) // 2
    going: list[tuple[int, int]] = []  # (frame, begin), from the outermost
    last_ns = 0
    ended: list[Span] = []
    for at_ns, stack_number in sorted((int(at_ns), int(number)) for at_ns, number in content["samples"]):
        stack = content["stacks"][stack_number]
        same = 0
        while same < min(len(going), len(stack)) and going[same][0] == stack[same]:
            same += 1
        edge = min(last_ns + half, at_ns) if going else at_ns - half
        ended += [(names[frame], begin, edge) for frame, begin in going[same:]]
        going[same:] = [(frame, edge) for frame in stack[same:]]
        last_ns = at_ns
    ended += [(names[frame], begin, last_ns + half) for frame, begin in going]
    # equal ones in the order of their stacks: outer frames end last where all begin at once
    yield from sorted(ended, key=lambda span: (span[1], -span[2]))


def _append_spans(trace: Trace, spans: list[Span], thread: int) -> Trace:
    """Return the trace with these spans as python events behind its own."""
    if not spans:
        return trace
    numbers = {name: at for at, name in enumerate(trace.names)}
    name = np.array([numbers.setdefault(span[0], len(numbers)) for span in spans], np.int32)
    start = np.array([span[1] for span in spans], np.int64)
    duration = np.array([span[2] for span in spans], np.int64) - start
    lanes = list(trace.lanes)
    lane = next((at for at, text in enumerate(lanes) if text.split("/")[-1].split(" ")[-1] == str(thread)), len(lanes))
    lanes += [f"thread {thread}"] if lane == len(lanes) else []
    begins = np.array([step.start_ns for step in trace.steps], np.int64)
    ends = np.array([step.end_ns for step in trace.steps], np.int64)
    at = np.searchsorted(begins, start, "right").astype(np.int32) - np.int32(1)
    step = np.where((at >= 0) & (start < ends[np.maximum(at, 0)]), at, np.int32(-1))
    nothing = np.zeros(len(spans), np.int32)  # the first of their texts is empty
    return replace(
        trace,
        names=tuple(numbers),
        lanes=tuple(lanes),
        name=np.append(trace.name, name),
        kind=np.append(trace.kind, np.full(len(spans), KINDS.index("python"), trace.kind.dtype)),
        lane=np.append(trace.lane, np.full(len(spans), lane, trace.lane.dtype)),
        step=np.append(trace.step, step.astype(trace.step.dtype)),
        start_ns=np.append(trace.start_ns, start),
        duration_ns=np.append(trace.duration_ns, np.maximum(duration, 0)),
        launched_by=np.append(trace.launched_by, np.full(len(spans), -1, trace.launched_by.dtype)),
        launch_ns=np.append(trace.launch_ns, np.full(len(spans), UNTOLD, np.int64)),
        detail=None if trace.detail is None else np.append(trace.detail, np.zeros(len(spans), trace.detail.dtype)),
        shape=np.append(trace.shape, nothing),
        engine=np.append(trace.engine, nothing),
        dtype=np.append(trace.dtype, nothing),
        stack=np.append(trace.stack, nothing),
    )
