"""Any profile as a Chrome trace that Perfetto shows whole (https://ui.perfetto.dev, chrome://tracing).

A viewer drops slices of one thread that overlap without nesting, and reads a time that is a text as zero or not at
all. So times are numbers that count from the trace's first event, and what overlaps stands in threads of its own:
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event Format)."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from ascend_workbook.profiling.timeline.step import Lane, arrange_lanes, iterate_rows, split_lanes
from ascend_workbook.profiling.trace import DEVICE_KINDS, I32, KINDS, Trace
from ascend_workbook.storage import refuse_unwritable

#: A thread's operators, Python functions, calls and marks nest and stay together; a stream's work stands by itself
GROUPS = dict.fromkeys(KINDS, "host") | dict.fromkeys(("compute", "copy", "device_other"), "streams")
GROUPS |= {"communication": "communication", "communication_task": "communication"}
#: No name here is a category of torch's: nobody is to take the copy for what a profiler wrote
CATEGORIES = {"runtime": "launch"}
PIECE = 20_000


def write_perfetto(trace: Trace, path: str | os.PathLike[str]) -> int:
    """Write the trace to `path` (gzip where it ends in .gz), at once or not at all; return how many slices. Every event
    of the Trace becomes one slice; flows lead from the operator that launched to what it launched."""
    refuse_unwritable(path)
    target = Path(path)
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with gzip.open(aside, "wb", 5) if target.suffix == ".gz" else aside.open("wb") as stream:
            first = int(trace.start_ns.min(initial=2**62)) if len(trace) else 0
            about: dict[str, object] = {"source": Path(trace.source).name, "first_event_epoch_ns": str(first)}
            about["simulated"] = trace.simulated
            mark = json.dumps({"ph": "M", "name": "trace", "pid": 0, "args": {"name": "ascend-workbook"}})
            opening = f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about)},"traceEvents":[\n{mark}'
            stream.write(opening.encode())
            events = _write_events(trace, first)
            while piece := list(islice(events, PIECE)):
                stream.write(",\n".join(["", *piece]).encode("utf-8", "backslashreplace"))
            stream.write(b"\n]}\n")
        aside.replace(target)
    except OSError as error:  # a full disk names no file
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        aside.unlink(missing_ok=True)
    return len(trace)


def _write_events(trace: Trace, first: int) -> Iterator[str]:
    """Return all events of the trace as JSON texts: names first, then slices and flows."""
    trace_lanes, lane = arrange_lanes(trace, GROUPS)
    nests = trace.kind >= len(DEVICE_KINDS)
    part = split_lanes(lane, trace.start_ns, trace.duration_ns, nests.astype(np.int32))
    pair, thread = np.unique(lane.astype(np.int64) * (int(part.max(initial=0)) + 1) + part, return_inverse=True)
    thread = thread.reshape(-1).astype(np.int32)
    homes = [divmod(key, int(part.max(initial=0)) + 1) for key in pair.tolist()]
    groups = list(dict.fromkeys(trace_lane.group for trace_lane in trace_lanes))
    yield from _name_threads(groups, trace_lanes, homes, trace.simulated)
    pids = np.array([groups.index(trace_lanes[at].group) + 1 for at, _ in homes] or [0], np.int32)
    yield from _write_slices(trace, first, pids[thread], thread + 1)


def _name_threads(
    groups: list[str], trace_lanes: tuple[Lane, ...], homes: list[tuple[int, int]], simulated: bool
) -> Iterator[str]:
    """Return the events that name and order the processes and threads."""
    for number, group in enumerate(groups, 1):
        name = f"{group} (simulated NPU)" if simulated and group != "host" else group
        yield _write_meta("process_name", number, 0, name=name)
        yield _write_meta("process_sort_index", number, 0, sort_index=number)
    for thread, (at, part) in enumerate(homes, 1):
        pid = groups.index(trace_lanes[at].group) + 1
        yield _write_meta("thread_name", pid, thread, name=trace_lanes[at].name + (f" ({part + 1})" if part else ""))
        yield _write_meta("thread_sort_index", pid, thread, sort_index=thread)


def _write_meta(kind: str, pid: int, tid: int, **args: str | int) -> str:
    """Return one metadata event as JSON text."""
    return json.dumps({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}, ensure_ascii=False)


def _write_slices(trace: Trace, first: int, pid: I32, tid: I32) -> Iterator[str]:
    """Return outer slices before those inside them, each with the flows that it begins and ends."""
    names = [json.dumps(name, ensure_ascii=False) for name in trace.names]
    shapes = [f'"shape":{json.dumps(shape, ensure_ascii=False)},' if shape else "" for shape in trace.shapes]
    kinds = [CATEGORIES.get(kind, kind) for kind in KINDS]
    numbers = [step.number for step in trace.steps] + [None]
    order = np.lexsort((-trace.duration_ns, trace.start_ns))
    starts = trace.start_ns - first
    columns = (trace.name, trace.kind, trace.shape, trace.step, pid, tid, starts, trace.duration_ns, trace.launched_by)
    for row, name, kind, shape, step, process, thread, start, length, by in iterate_rows(order, *columns):
        where = f'"pid":{process},"tid":{thread},"ts":{_format_us(start)}'
        arguments = f'{{{shapes[shape]}"step":{"null" if step < 0 else numbers[step]}}}'
        named = f'"name":{names[name]},"cat":"{kinds[kind]}"'
        yield f'{{"ph":"X",{named},{where},"dur":{_format_us(length)},"args":{arguments}}}'
        if by >= 0:
            flow = f'"name":"launch","cat":"flow","id":{row + 1}'
            yield f'{{"ph":"s",{flow},"pid":{int(pid[by])},"tid":{int(tid[by])},"ts":{_format_us(int(starts[by]))}}}'
            yield f'{{"ph":"f","bp":"e",{flow},{where}}}'


def _format_us(nanoseconds: int) -> str:
    """Write nanoseconds as microseconds with three decimals."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"
