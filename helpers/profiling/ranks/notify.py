"""Whom a collective waited for by CANN's own tasks: a Notify_Wait ends when its peer has told that it is ready.

Each plane of a collective deals with one peer at a time, so what it waits for one peer is the sum of its Notify_Wait.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from helpers.profiling.intervals import I64
from helpers.profiling.ranks.calls import numbered
from helpers.profiling.readers.columns import NOBODY
from helpers.profiling.readers.database import columns_of, tables_of
from helpers.profiling.trace import Trace

WAIT = "Notify_Wait"
TASKS = "COMMUNICATION_TASK_INFO"
QUERY = f"""SELECT i.opId, i.dstRank, SUM(t.endNs - t.startNs) FROM {TASKS} i
    JOIN TASK t ON t.globalTaskId = i.globalTaskId JOIN STRING_IDS n ON n.id = i.taskType
    WHERE n.value = '{WAIT}' GROUP BY i.opId, i.dstRank"""

NUMBERS = f"""SELECT g.value, MIN(i.srcRank), MAX(CASE WHEN i.dstRank < {NOBODY} THEN i.dstRank END)
    FROM {TASKS} i JOIN STRING_IDS g ON g.id = i.groupName GROUP BY i.groupName"""


class Wait(NamedTuple):
    """The longest wait of a collective, in nanoseconds, for which peer of the group, and the longest for another;
    -1: not told. A peer of -1 is one that the profile does not name."""

    call: str | int
    longest_ns: int
    peer: int
    next_ns: int


NONE = Wait("", -1, -1, -1)


def of_trace(trace: Trace) -> dict[str, Wait]:
    """hcom operation, numbered as calls.numbered does in order of time, -> its Wait, from a timeline's planes."""
    calls = np.flatnonzero(trace.where(("communication",)))
    names = np.array([name == WAIT for name in trace.names] or [False])
    tasks = np.flatnonzero(trace.where(("communication_task",)) & names[trace.name])
    if not calls.size or not tasks.size or trace.detail is None:
        return {}
    lanes = np.array([_number(lane) for lane in trace.lanes], np.int64)
    groups = np.unique(lanes[trace.lane[calls]])  # the planes of a group stand below its own lane
    of_call, of_task = lanes[trace.lane[calls]], groups[_before(groups, lanes[trace.lane[tasks]])]
    order = np.lexsort((trace.start_ns[calls], of_call))
    calls, of_call = calls[order], of_call[order]
    told_apart = _names(trace, np.sort(calls))
    rows = []
    for group in groups.tolist():
        mine, there = calls[of_call == group], tasks[of_task == group]
        call = mine[_before(trace.start_ns[mine], trace.start_ns[there])]
        end = trace.start_ns[call] + trace.duration_ns[call]
        inside = (trace.start_ns[there] >= trace.start_ns[call]) & (trace.start_ns[there] < end)
        rows.append(np.stack([call, there])[:, inside])
    call, task = np.concatenate(rows, axis=1)
    peers = np.array([detail.peer for detail in trace.details], np.int64)[trace.detail[task]]
    pairs, at = np.unique(np.stack([call, peers]), axis=1, return_inverse=True)
    summed = np.bincount(at.ravel(), weights=trace.duration_ns[task]).astype(np.int64)
    told = zip((told_apart[row] for row in pairs[0].tolist()), pairs[1].tolist(), summed.tolist())
    return {str(wait.call): wait for wait in _longest(told)}


def of_database(opened: sqlite3.Connection) -> dict[int, Wait]:
    """Operation's number -> its Wait."""
    told = {"opId", "dstRank", "taskType", "globalTaskId"} <= columns_of(opened, TASKS)
    if not told or not {"TASK", "STRING_IDS"} <= tables_of(opened):
        return {}
    rows = opened.execute(QUERY).fetchall()
    found = ((call, -1 if peer in (None, NOBODY) else int(peer), int(wait)) for call, peer, wait in rows)
    return {int(wait.call): wait for wait in _longest(found)}


def numbers(opened: sqlite3.Connection) -> tuple[dict[str, int], dict[str, int]]:
    """Of each group: which member this rank is, and at least how many it has."""
    told = {"srcRank", "dstRank", "groupName"} <= columns_of(opened, TASKS)
    if not told or "STRING_IDS" not in tables_of(opened):
        return {}, {}
    rows = [(str(group), own, far) for group, own, far in opened.execute(NUMBERS).fetchall() if own is not None]
    return {group: own for group, own, _ in rows}, {group: max(own, far or 0) + 1 for group, own, far in rows}


def _longest(told: Iterable[tuple[str | int, int, int]]) -> Iterable[Wait]:
    """Of (call, peer, nanoseconds): for each call its longest wait, and the longest for another peer."""
    waits: dict[str | int, list[tuple[int, int]]] = {}
    for call, peer, wait in told:
        waits.setdefault(call, []).append((wait, peer))
    for call, found in waits.items():
        first, second = [*sorted(found, reverse=True), (0, -1)][:2]
        yield Wait(call, first[0], first[1], second[0])


def _names(trace: Trace, calls: I64) -> dict[int, str]:
    in_time = calls[np.argsort(trace.start_ns[calls], kind="stable")].tolist()
    return dict(zip(in_time, numbered([trace.names[trace.name[row]] for row in in_time])))


def _before(borders: I64, values: I64) -> I64:
    """Of sorted borders the last at or before each value; the first where none is."""
    return np.maximum(np.searchsorted(borders, values, "right") - 1, 0)


def _number(lane: str) -> int:
    last = lane.rpartition(" ")[2]
    return int(last) if last.isdecimal() else -1
