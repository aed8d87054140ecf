"""The modules of a profile as a tree: calls, the host's time inside, and the device's time that it launched.

Modules are the frames that torch.profiler names `nn.Module: NAME` (`with_modules`, or its Python stacks); where there
are none, the script's own marks (`record_function`) are taken. A module's time on the device is that of all work whose
launching operator ran inside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.timeline.index import HOST, Index
from ascend_workbook.profiling.trace import KINDS

MODULE = "nn.Module: "
#: Rows of a tree
MOST = 3000


def list_modules(index: Index) -> list[list[Any]]:
    """List the tree: [parent's row or -1, name, calls, host nanoseconds, device nanoseconds, begin of the first]."""
    places = _find_frames(index)
    if not places.size:
        return []
    begin, end = index.begin_of(places), index.begin_of(places) + index.length_ns[places]
    lane = index.lane_of_row[index.row_of(places)].astype(np.int64)
    order = np.lexsort((-(end - begin), begin, lane))
    places, begin, end, lane = places[order], begin[order], end[order], lane[order]
    parent = _nest_frames(lane, begin, end)
    path, paths = _number_paths(index.name[places], parent)
    device = _device_ns(index, lane, begin, end, parent, path, len(paths))
    calls = np.bincount(path, minlength=len(paths))
    host = np.bincount(path, weights=end - begin, minlength=len(paths))
    first = np.full(len(paths), 2**62, np.int64)
    np.minimum.at(first, path, begin)
    rows = []
    for number, (above, name) in enumerate(paths[:MOST]):
        label = index.names[name]
        label = label[len(MODULE) :] if label.startswith(MODULE) else label
        times = [int(calls[number]), float(host[number]), float(device[number]), int(first[number])]
        rows.append([above, label, *times, index.names[name]])
    return rows


def _find_frames(index: Index) -> I64:
    """Return the places of the frames of modules, or of the script's marks where there are none."""
    modules = np.array([name.startswith(MODULE) for name in index.names] or [False])
    marks = np.isin(index.kind, [KINDS.index(kind) for kind in ("annotation", "python")])
    places = np.flatnonzero(marks & modules[index.name]) if len(index) else np.zeros(0, np.intp)
    if not places.size:
        named = np.array([not name.startswith("Optimizer.") for name in index.names] or [False])
        marks = index.kind == KINDS.index("annotation")
        places = np.flatnonzero(marks & named[index.name]) if len(index) else places
    return places.astype(np.int64)


def _nest_frames(lane: I64, begin: I64, end: I64) -> I64:
    """Return for each frame, in order of lane and begin, the frame around it or -1."""
    parent = np.full(lane.size, -1, np.int64)
    open_ones: list[int] = []
    before = -1
    for at, (own, start, until) in enumerate(zip(lane.tolist(), begin.tolist(), end.tolist())):
        if own != before:
            open_ones, before = [], own
        while open_ones and end[open_ones[-1]] <= start:
            open_ones.pop()
        while open_ones and end[open_ones[-1]] < until:
            open_ones.pop()
        parent[at] = open_ones[-1] if open_ones else -1
        open_ones.append(at)
    return parent


def _number_paths(name: Any, parent: I64) -> tuple[I64, list[tuple[int, int]]]:
    """Return for each frame the number of its path, and the paths as (path around, name), outer ones first."""
    numbers: dict[tuple[int, int], int] = {}
    path = np.zeros(parent.size, np.int64)
    for at, (own, above) in enumerate(zip(name.tolist(), parent.tolist())):
        key = (int(path[above]) if above >= 0 else -1, own)
        path[at] = numbers.setdefault(key, len(numbers))
    return path, list(numbers)


def _device_ns(index: Index, lane: I64, begin: I64, end: I64, parent: I64, path: I64, count: int) -> Any:
    """Return the time of the device's work by path of the module that launched it, inner ones included."""
    device = np.flatnonzero(index.by >= 0)
    device = device[index.family_at(device) != HOST]
    launcher = index.by[device]
    at_lane = index.lane_of_row[index.row_of(launcher)].astype(np.int64)
    # modules of Python frames stand in lanes of their own: they are of the same thread by name
    thread: dict[tuple[int, str], int] = {}
    same = [thread.setdefault((entry.rank, entry.name), len(thread)) for entry in index.lanes]
    threads = np.array(same, np.int64)
    span = index.span_ns
    keys = threads[lane] * span + begin
    order = np.argsort(keys, kind="stable")
    moment = index.begin_of(launcher)
    at = np.searchsorted(keys[order], threads[at_lane] * span + moment, "right") - 1
    frame = np.where(at >= 0, order[np.maximum(at, 0)], -1)
    frame = np.where((frame >= 0) & (threads[lane[frame]] == threads[at_lane]), frame, -1)
    while True:  # up to a frame that is still going on
        over = (frame >= 0) & (end[np.maximum(frame, 0)] <= moment)
        if not over.any():
            break
        frame = np.where(over, parent[np.maximum(frame, 0)], frame)
    spent = np.zeros(count)
    inside = frame >= 0
    np.add.at(spent, path[frame[inside]], index.length_ns[device[inside]])
    above = np.full(count, -1, np.int64)
    above[path] = np.where(parent >= 0, path[np.maximum(parent, 0)], -1)
    for number in range(count - 1, -1, -1):
        if above[number] >= 0:
            spent[above[number]] += spent[number]
    return spent
