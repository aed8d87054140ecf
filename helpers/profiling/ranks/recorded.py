"""The collectives of a rank from whatever its profile has: communication.json, its database, its trace."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from helpers.errors import WorkbookError
from helpers.profiling.ranks import notify
from helpers.profiling.ranks.calls import UNTOLD, Call, Calls, columns, group_in, kind_of, numbered
from helpers.profiling.readers import ascend, database
from helpers.profiling.readers.times import LIMIT
from helpers.profiling.trace import Trace

COMMUNICATION = "communication.json"
#: A larger file of this kind is not read whole; the trace tells the same calls
LARGEST = 2**28
#: No clock shows more microseconds than fit 62 bits as nanoseconds
LATEST_US = LIMIT / 1000
SIZES = {"float": 4, "half": 2, "bfloat16": 2, "double": 8, "long": 8, "int": 4, "byte": 1, "char": 1, "bool": 1}
OPERATIONS = """SELECT {operation}, n.value, g.value, o.startNs, o.endNs FROM COMMUNICATION_OP o
    LEFT JOIN STRING_IDS n ON n.id = o.opName LEFT JOIN STRING_IDS g ON g.id = o.groupName"""


def calls_at(found: Path, trace: Trace | None) -> Calls:
    """The calls of the profile at `found`; `trace` where it could be read."""
    told = output(found, COMMUNICATION)
    waits = notify.of_trace(trace) if trace is not None else {}
    exported = database.find(found) if found.is_dir() else None
    some = trace is not None and trace.looked is not None  # the file tells of all steps: names are not numbered alike
    if told is not None and told.stat().st_size <= LARGEST and not some:
        return columns(_told(_of_json(load_json(told)), waits))
    if exported is not None:
        return columns(_of_database(exported))
    return columns(_told(_of_trace(trace), waits)) if trace is not None else columns(())


def _told(calls: Iterable[tuple[str, Call]], waits: dict[str, notify.Wait]) -> Iterator[Call]:
    """The calls with what the profile tells of their waits; a name may come again in a later step."""
    ordered = sorted(calls, key=lambda one: one[1].start_ns)
    for name, (_, call) in zip(numbered([name for name, _ in ordered]), ordered):
        _, told_wait_ns, peer, next_wait_ns = waits.get(name, notify.NONE)
        yield replace(call, told_wait_ns=told_wait_ns, peer=peer, next_wait_ns=next_wait_ns)


def numbers_at(found: Path) -> tuple[dict[str, int], dict[str, int]]:
    """notify.numbers of the profile's database; empty where it has none."""
    exported = database.find(found) if found.is_dir() else None
    if exported is None:
        return {}, {}
    try:
        with closing(database.opened(exported)) as opened:
            return notify.numbers(opened)
    except sqlite3.Error as cause:
        raise WorkbookError("profiling.unreadable", path=str(exported), error=str(cause)) from cause


def output(found: Path, name: str) -> Path | None:
    """A file that torch_npu writes beside the timeline, or None."""
    places = (found / ascend.OUTPUT / name, found / name) if found.is_dir() else ()
    return next((one for one in places if one.is_file()), None)


def load_json(path: Path) -> dict[str, Any]:
    """Raises WorkbookError, naming the file, where it is no JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
    if not isinstance(content, dict):
        raise WorkbookError("profiling.unreadable", path=str(path), error=f"a {type(content).__name__}, no object")
    return content


def operations(content: dict[str, Any]) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
    """(step, name, group, what is told) of each operation in communication.json or communication_matrix.json."""
    for step, kinds in content.items():
        number = int(step[4:]) if step.startswith("step") and step[4:].isdecimal() else UNTOLD
        for operators in kinds.values() if isinstance(kinds, dict) else ():
            for full, told in operators.items() if isinstance(operators, dict) else ():
                name, _, group = full.partition("@")
                if group and isinstance(told, dict):
                    yield number, name, group, told


def _of_json(content: dict[str, Any]) -> Iterator[tuple[str, Call]]:
    for step, name, group, told in operations(content):
        times = told.get("Communication Time Info")
        told_times = times if isinstance(times, dict) else {}
        start, elapse = (told_times.get(key, 0) for key in ("Start Timestamp(us)", "Elapse Time(ms)"))
        if number(start) and number(elapse) and start < LATEST_US and elapse < LATEST_US:
            key = f"{step} {group} {name}"
            yield name, Call(key, kind_of(name), group, step, round(start * 1e3), round(elapse * 1e6))


def number(value: Any) -> bool:
    """Whether it is a number that a time or a size can be."""
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def _of_database(path: Path) -> Iterator[Call]:
    try:
        with closing(database.opened(path)) as opened:
            if not {"COMMUNICATION_OP", "STRING_IDS"} <= database.tables_of(opened):
                return
            steps = opened.execute("SELECT id, startNs FROM STEP_TIME ORDER BY startNs").fetchall() \
                if "STEP_TIME" in database.tables_of(opened) else []  # fmt: skip
            waits = notify.of_database(opened)
            numbered_ones = "opId" in database.columns_of(opened, "COMMUNICATION_OP")
            rows = opened.execute(OPERATIONS.format(operation="o.opId" if numbered_ones else "NULL")).fetchall()
    except sqlite3.Error as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause
    begins = np.array([start for _, start in steps], np.int64)
    for operation, name, group, start, end in rows:
        at = int(np.searchsorted(begins, start, "right")) - 1
        step = int(steps[at][0]) if at >= 0 else UNTOLD
        wait = waits.get(operation, notify.NONE)
        yield Call(f"{step} {group} {name}", kind_of(name or ""), group or "", step, start, end - start, *wait[1:])


def _of_trace(trace: Trace) -> Iterator[tuple[str, Call]]:
    """NCCL's kernels and hcom's operations; on a CPU what gloo's threads were doing."""
    rows = np.flatnonzero(trace.where(("communication",)))
    if not rows.size:
        gloo = np.array([name.startswith("gloo:") for name in trace.names] or [False])
        rows = np.flatnonzero(trace.where(("annotation",)) & gloo[trace.name])
    for row in rows.tolist():
        name = trace.names[trace.name[row]]
        detail = trace.detail_of(row)
        step = trace.steps[trace.step[row]].number if trace.step[row] >= 0 else UNTOLD
        kind = detail.collective or kind_of(name)
        group = " ".join(filter(None, (detail.group, detail.ranks.strip(chr(34))))) or group_in(name)
        call = str(detail.number) if detail.number >= 0 else name if group_in(name) else trace.shapes[trace.shape[row]]
        size = detail.elements * SIZES.get(detail.dtype.lower(), UNTOLD) if detail.elements >= 0 else UNTOLD
        start, duration = int(trace.start_ns[row]), int(trace.duration_ns[row])
        key = f"{step} {group} {kind} {call}"
        yield name, Call(key, kind, group, step, start, duration, sent_bytes=max(size, UNTOLD))
