"""Whom a collective waited for by CANN's own tasks: a Notify_Wait ends when its peer has told that it is ready.

Each plane of a collective deals with one peer at a time, so what it waits for one peer is the sum of its Notify_Wait.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.ranks.calls import number_repeated_keys
from ascend_workbook.profiling.readers.columns import NOBODY
from ascend_workbook.profiling.readers.database import columns_of, tables_of
from ascend_workbook.profiling.trace import Trace

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


def read_trace_waits(trace: Trace) -> dict[str, Wait]:
    """Return the Wait of each hcom operation from a timeline's planes, by its name, numbered as
    calls.number_repeated_keys does in order of time.
    """
    calls = np.flatnonzero(trace.where(("communication",)))
    names = np.array([name == WAIT for name in trace.names] or [False])
    tasks = np.flatnonzero(trace.where(("communication_task",)) & names[trace.name])
    if not calls.size or not tasks.size or trace.detail is None:
        return {}
    lanes = np.array([_lane_number(lane) for lane in trace.lanes], np.int64)
    groups = np.unique(lanes[trace.lane[calls]])  # the planes of a group stand below its own lane
    of_call, of_task = lanes[trace.lane[calls]], groups[_last_at_or_before(groups, lanes[trace.lane[tasks]])]
    order = np.lexsort((trace.start_ns[calls], of_call))
    calls, of_call = calls[order], of_call[order]
    call_names = _name_calls(trace, np.sort(calls))
    rows = []
    for group in groups.tolist():
        group_calls, group_tasks = calls[of_call == group], tasks[of_task == group]
        call = group_calls[_last_at_or_before(trace.start_ns[group_calls], trace.start_ns[group_tasks])]
        end = trace.start_ns[call] + trace.duration_ns[call]
        inside = (trace.start_ns[group_tasks] >= trace.start_ns[call]) & (trace.start_ns[group_tasks] < end)
        rows.append(np.stack([call, group_tasks])[:, inside])
    call, task = np.concatenate(rows, axis=1)
    peers = np.array([detail.peer for detail in trace.details], np.int64)[trace.detail[task]]
    pairs, at = np.unique(np.stack([call, peers]), axis=1, return_inverse=True)
    sums_ns = np.bincount(at.ravel(), weights=trace.duration_ns[task]).astype(np.int64)
    peer_waits = zip((call_names[row] for row in pairs[0].tolist()), pairs[1].tolist(), sums_ns.tolist())
    return {str(wait.call): wait for wait in _find_longest_waits(peer_waits)}


def read_database_waits(connection: sqlite3.Connection) -> dict[int, Wait]:
    """Return the Wait of each operation by its number, from a profile's database."""
    has_columns = {"opId", "dstRank", "taskType", "globalTaskId"} <= columns_of(connection, TASKS)
    if not has_columns or not {"TASK", "STRING_IDS"} <= tables_of(connection):
        return {}
    rows = connection.execute(QUERY).fetchall()
    peer_waits = ((call, -1 if peer in (None, NOBODY) else int(peer), int(wait)) for call, peer, wait in rows)
    return {int(wait.call): wait for wait in _find_longest_waits(peer_waits)}


def read_group_numbers(connection: sqlite3.Connection) -> tuple[dict[str, int], dict[str, int]]:
    """Return for each group which member this rank is, and at least how many members it has."""
    has_columns = {"srcRank", "dstRank", "groupName"} <= columns_of(connection, TASKS)
    if not has_columns or "STRING_IDS" not in tables_of(connection):
        return {}, {}
    rows = [(str(group), own, far) for group, own, far in connection.execute(NUMBERS).fetchall() if own is not None]
    return {group: own for group, own, _ in rows}, {group: max(own, far or 0) + 1 for group, own, far in rows}


def _find_longest_waits(peer_waits: Iterable[tuple[str | int, int, int]]) -> Iterable[Wait]:
    """Yield for each call its longest wait, and the longest for another peer, from (call, peer, nanoseconds)."""
    waits: dict[str | int, list[tuple[int, int]]] = {}
    for call, peer, wait in peer_waits:
        waits.setdefault(call, []).append((wait, peer))
    for call, waits_of_call in waits.items():
        first, second = [*sorted(waits_of_call, reverse=True), (0, -1)][:2]
        yield Wait(call, first[0], first[1], second[0])


def _name_calls(trace: Trace, calls: I64) -> dict[int, str]:
    in_time = calls[np.argsort(trace.start_ns[calls], kind="stable")].tolist()
    return dict(zip(in_time, number_repeated_keys([trace.names[trace.name[row]] for row in in_time])))


def _last_at_or_before(borders: I64, values: I64) -> I64:
    """Return for each value the last of the sorted borders at or before it; the first where there is none."""
    return np.maximum(np.searchsorted(borders, values, "right") - 1, 0)


def _lane_number(lane: str) -> int:
    last = lane.rpartition(" ")[2]
    return int(last) if last.isdecimal() else -1
