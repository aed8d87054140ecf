"""The collectives of a rank from whatever its profile has: communication.json, its database, its trace.

Whom one waited for is told by CANN's own tasks: a Notify_Wait ends when its peer has told that it is ready. Each plane
of a collective deals with one peer at a time, so what it waits for one peer is the sum of its Notify_Wait."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.ranks import facts
from ascend_workbook.profiling.ranks.facts import (
    UNTOLD,
    Call,
    Calls,
    collect_call_columns,
    kind_of,
    number_repeated_keys,
)
from ascend_workbook.profiling.readers import ascend, database, exported
from ascend_workbook.profiling.readers.columns import NOBODY, parse_whole_number
from ascend_workbook.profiling.readers.database import ANALYSIS, columns_of, open_database, tables_of
from ascend_workbook.profiling.readers.values import LIMIT
from ascend_workbook.profiling.trace import Detail, Trace

COMMUNICATION = "communication.json"
#: Beside the output; the profiler itself chooses which variables it keeps
METADATA = "profiler_metadata.json"
#: A larger file of this kind is not read whole; the trace tells the same calls
LARGEST = 2**28
#: No clock shows more microseconds than fit 62 bits as nanoseconds
LATEST_US = LIMIT / 1000
SIZES = {"float": 4, "half": 2, "bfloat16": 2, "double": 8, "long": 8, "int": 4, "byte": 1, "char": 1, "bool": 1}
SIZES |= {name.lower(): size for name, size in exported.HCCL_BYTES.items()}
OPERATIONS = """SELECT {operation}, n.value, g.value, o.startNs, o.endNs FROM COMMUNICATION_OP o
    LEFT JOIN STRING_IDS n ON n.id = o.opName LEFT JOIN STRING_IDS g ON g.id = o.groupName"""


def calls_at(profile_path: Path, trace: Trace | None) -> Calls:
    """Return the calls of the profile at `profile_path`; `trace` is given where it could be read."""
    calls_file = find_output_file(profile_path, COMMUNICATION)
    waits = read_trace_waits(trace) if trace is not None else {}
    sizes = read_trace_sizes(trace) if trace is not None else {}
    database_path = database.find_database(profile_path) if profile_path.is_dir() else None
    some = trace is not None and trace.looked is not None  # the file tells of all steps: names are not numbered alike
    if calls_file is not None and calls_file.stat().st_size <= LARGEST and not some:
        return collect_call_columns(_attach_details(_calls_of_json(load_json(calls_file)), waits, sizes))
    if database_path is not None:
        return collect_call_columns(_calls_of_database(database_path))
    if trace is not None:
        return collect_call_columns(_attach_details(_calls_of_trace(trace), waits, sizes))
    return collect_call_columns(())


def _attach_details(calls: Iterable[tuple[str, Call]], waits: dict[str, Wait], sizes: dict[str, int]) -> Iterator[Call]:
    """Yield the calls with what the profile tells of their waits and sizes; a name may come again in a later step."""
    ordered = sorted(calls, key=lambda named_call: named_call[1].start_ns)
    for name, (_, call) in zip(number_repeated_keys([name for name, _ in ordered]), ordered):
        _, told_wait_ns, peer, next_wait_ns = waits.get(name, NONE)
        sent = sizes.get(name, call.sent_bytes)
        yield replace(call, told_wait_ns=told_wait_ns, peer=peer, next_wait_ns=next_wait_ns, sent_bytes=sent)


def group_numbers_at(profile_path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Return for each group which member this rank is, and at least how many members it has, by the profile's database;
    empty where it has none."""
    database_path = database.find_database(profile_path) if profile_path.is_dir() else None
    if database_path is None:
        return {}, {}
    with open_database(database_path) as connection:
        has_columns = {"srcRank", "dstRank", "groupName"} <= columns_of(connection, TASKS)
        if not has_columns or "STRING_IDS" not in tables_of(connection):
            return {}, {}
        rows = [(str(group), own, far) for group, own, far in connection.execute(NUMBERS) if own is not None]
    return {group: own for group, own, _ in rows}, {group: max(own, far or 0) + 1 for group, own, far in rows}


def find_output_file(profile_path: Path, name: str) -> Path | None:
    """Return a file that torch_npu writes beside the timeline, or None."""
    places = (profile_path / ascend.OUTPUT / name, profile_path / name) if profile_path.is_dir() else ()
    return next((place for place in places if place.is_file()), None)


def load_json(path: Path) -> dict[str, object]:
    """Raises WorkbookError, naming the file, where it is no JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
    if not isinstance(content, dict):
        raise WorkbookError("profiling.unreadable", path=str(path), error=f"a {type(content).__name__}, no object")
    return content


def read_metadata(folder: Path, database_path: Path | None) -> dict[str, object]:
    """Return what torch_npu notes of the run, in the profile's folder or else in its database."""
    path = folder / METADATA
    stated = load_json(path) if path.is_file() else {}
    return {**(exported.read_stated(database_path) if database_path else {}), **stated}


def load_operations(profile_path: Path, name: str) -> dict[str, object]:
    """Return what communication.json or communication_matrix.json says, or else analysis.db of the same; empty where
    neither is there, or the file is too large to be read whole."""
    file = find_output_file(profile_path, name)
    if file is not None:
        return load_json(file) if file.stat().st_size <= LARGEST else {}
    analysis = find_output_file(profile_path, ANALYSIS)
    if analysis is None:
        return {}
    return exported.read_packets(analysis) if name == COMMUNICATION else exported.read_links(analysis)


def iterate_operations(content: dict[str, object]) -> Iterator[tuple[int, str, str, dict[str, object]]]:
    """Yield (step, name, group, attributes) of each operation in communication.json or communication_matrix.json."""
    for step, kinds in content.items():
        number = int(step[4:]) if step.startswith("step") and step[4:].isdecimal() else UNTOLD
        for operators in kinds.values() if isinstance(kinds, dict) else ():
            for full, attributes in operators.items() if isinstance(operators, dict) else ():
                name, _, group = full.partition("@")
                if group and isinstance(attributes, dict):
                    yield number, name, group, attributes


def _calls_of_json(content: dict[str, object]) -> Iterator[tuple[str, Call]]:
    for step, name, group, attributes in iterate_operations(content):
        times = attributes.get("Communication Time Info")
        told_times = times if isinstance(times, dict) else {}
        start, elapse = (told_times.get(key, 0) for key in ("Start Timestamp(us)", "Elapse Time(ms)"))
        if is_positive_number(start) and is_positive_number(elapse) and start < LATEST_US and elapse < LATEST_US:
            key = f"{step} {group} {name}"
            yield name, Call(key, kind_of(name), group, step, round(start * 1e3), round(elapse * 1e6))


def is_positive_number(value: object) -> bool:
    """Return whether the value is a number that a time or a size can be."""
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def _calls_of_database(path: Path) -> Iterator[Call]:
    with open_database(path) as connection:
        tables = tables_of(connection)
        if not {"COMMUNICATION_OP", "STRING_IDS"} <= tables:
            return
        by_time = "SELECT id, startNs FROM STEP_TIME ORDER BY startNs"
        steps = connection.execute(by_time).fetchall() if "STEP_TIME" in tables else []
        waits, sizes = read_database_waits(connection), exported.read_sizes(connection)
        numbered_ones = "opId" in columns_of(connection, "COMMUNICATION_OP")
        rows = connection.execute(OPERATIONS.format(operation="o.opId" if numbered_ones else "NULL")).fetchall()
    begins = np.array([start for _, start in steps], np.int64)
    for operation, name, group, start, end in rows:
        at = int(np.searchsorted(begins, start, "right")) - 1
        step = int(steps[at][0]) if at >= 0 else UNTOLD
        wait = waits.get(operation, NONE)
        sent = sizes.get(operation, UNTOLD)
        yield Call(
            f"{step} {group} {name}", kind_of(name or ""), group or "", step, start, end - start, *wait[1:], sent
        )


def _calls_of_trace(trace: Trace) -> Iterator[tuple[str, Call]]:
    """Yield the calls of a trace: NCCL's kernels and hcom's operations, on a CPU what gloo's threads were doing."""
    rows = np.flatnonzero(trace.where(("communication",)))
    if not rows.size:
        gloo = np.array([name.startswith("gloo:") for name in trace.names] or [False])
        rows = np.flatnonzero(trace.where(("annotation",)) & gloo[trace.name])
    for row in rows.tolist():
        name = trace.names[trace.name[row]]
        detail = trace.detail_of(row)
        step = trace.steps[trace.step[row]].number if trace.step[row] >= 0 else UNTOLD
        kind = detail.collective or kind_of(name)
        group = " ".join(filter(None, (detail.group, detail.ranks.strip(chr(34))))) or facts.group_in(name)
        call = (
            str(detail.number)
            if detail.number >= 0
            else name
            if facts.group_in(name)
            else trace.shapes[trace.shape[row]]
        )
        start, duration = int(trace.start_ns[row]), int(trace.duration_ns[row])
        key = f"{step} {group} {kind} {call}"
        yield name, Call(key, kind, group, step, start, duration, sent_bytes=_sent_bytes(detail))


def read_trace_sizes(trace: Trace) -> dict[str, int]:
    """Return the bytes of each collective that tells them, by its name, numbered in order of time."""
    rows = np.flatnonzero(trace.where(("communication",)))
    sizes = {name: _sent_bytes(trace.detail_of(row)) for row, name in _name_calls(trace, rows).items()}
    return {name: size for name, size in sizes.items() if size >= 0}


def _sent_bytes(detail: Detail) -> int:
    """Return how much a collective sends, UNTOLD where the profile does not say it."""
    size = SIZES.get(detail.dtype.lower())
    return UNTOLD if size is None or detail.elements < 0 else detail.elements * size


WAIT = "Notify_Wait"
TASKS = "COMMUNICATION_TASK_INFO"
QUERY = f"""SELECT i.opId, i.dstRank, SUM(t.endNs - t.startNs) FROM {TASKS} i
    JOIN TASK t ON t.globalTaskId = i.globalTaskId JOIN STRING_IDS n ON n.id = i.taskType
    WHERE n.value = '{WAIT}' GROUP BY i.opId, i.dstRank"""

NUMBERS = f"""SELECT g.value, MIN(CASE WHEN i.srcRank < {NOBODY} THEN i.srcRank END),
    MAX(CASE WHEN i.dstRank < {NOBODY} THEN i.dstRank END)
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
    calls.number_repeated_keys does in order of time."""
    calls = np.flatnonzero(trace.where(("communication",)))
    names = np.array([name == WAIT for name in trace.names] or [False])
    tasks = np.flatnonzero(trace.where(("communication_task",)) & names[trace.name])
    if not calls.size or not tasks.size or trace.detail is None:
        return {}
    numbers = [lane.rpartition(" ")[2] for lane in trace.lanes]
    lanes = np.array([*map(parse_whole_number, numbers)], np.int64)
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
